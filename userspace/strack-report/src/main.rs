// SPDX-License-Identifier: GPL-2.0
//! `strack-report`: from what the guest measured to what people and checkers read.
//!
//! The guest's scripts leave one line of JSON for each thing that happened
//! ([`raw`]). A command here turns such a file into figures with names and targets
//! ([`strack_report::report`]), prints them as tables, and writes the JSON of the same figures and
//! a plot beside it. The exit status is 1 when a target was missed.

mod demo;
mod demo_plot;
mod fabric;
mod fabric_plot;
mod flows;
mod hole;
mod page;
mod raw;
mod recovery;
mod veth;
mod vstellar;

use anyhow::Context;
use anyhow::Result;
use clap::Args;
use clap::Parser;
use clap::Subcommand;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use strack_report::report::Report;

/// Turn raw measurements into a table, a plot and a JSON file.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One file over the leaf-spine fabric: demo.json, demo.svg
    Demo(Files),
    /// Several connections over the leaf-spine fabric: fabric.json, fabric.svg
    Fabric(Files),
    /// Instructions per byte over one veth pair: veth.json
    Veth(Files),
    /// What a virtual device costs: vstellar.json
    Vstellar(Files),
}

#[derive(Args)]
struct Files {
    /// What the guest wrote: one JSON object per line
    raw: PathBuf,
    /// Directory for the results
    #[arg(short, long, default_value = "out")]
    out: PathBuf,
}

fn main() -> Result<ExitCode> {
    let report = match Cli::parse().command {
        Command::Demo(files) => demo(&files)?,
        Command::Fabric(files) => fabric(&files)?,
        Command::Veth(files) => veth(&files)?,
        Command::Vstellar(files) => vstellar(&files)?,
    };
    let missed = report.missed();
    if missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("Missed: {}", missed.join(", "));
    Ok(ExitCode::FAILURE)
}

fn demo(files: &Files) -> Result<Report> {
    let raw = raw::read(&files.raw)?;
    let demo = demo::Demo::new(&raw)?;
    let report = demo.report();
    fs::create_dir_all(&files.out).with_context(|| files.out.display().to_string())?;
    let svg = files.out.join("demo.svg");
    demo_plot::draw(&svg, &demo)?;
    let json = files.out.join("demo.json");
    report.write(&json)?;
    print!("{}", demo.tables(&report));
    println!("Written: {} {}", json.display(), svg.display());
    Ok(report)
}

fn fabric(files: &Files) -> Result<Report> {
    let raw = raw::read(&files.raw)?;
    let bench = fabric::Bench::new(&raw)?;
    let report = bench.report();
    fs::create_dir_all(&files.out).with_context(|| files.out.display().to_string())?;
    let svg = files.out.join("fabric.svg");
    fabric_plot::draw(&svg, &bench)?;
    let json = files.out.join("fabric.json");
    report.write(&json)?;
    print!("{}", bench.tables(&report));
    println!("Written: {} {}", json.display(), svg.display());
    Ok(report)
}

fn veth(files: &Files) -> Result<Report> {
    let raw = raw::read(&files.raw)?;
    let bench = veth::Bench::new(&raw)?;
    let report = bench.report();
    fs::create_dir_all(&files.out).with_context(|| files.out.display().to_string())?;
    let json = files.out.join("veth.json");
    report.write(&json)?;
    print!("{}", bench.table());
    println!("Written: {}", json.display());
    Ok(report)
}

fn vstellar(files: &Files) -> Result<Report> {
    let bench = vstellar::Bench::read(&files.raw)?;
    let report = bench.report()?;
    fs::create_dir_all(&files.out).with_context(|| files.out.display().to_string())?;
    let json = files.out.join("vstellar.json");
    report.write(&json)?;
    print!("{}", bench.tables(&report));
    println!("Written: {}", json.display());
    Ok(report)
}
