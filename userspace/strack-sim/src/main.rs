// SPDX-License-Identifier: GPL-2.0
//! `strack-sim`: simulate the protocol in a fabric that nobody has at hand.

mod list;
mod papers;
mod run;
mod speed;
mod theory;

use clap::Parser;
use clap::Subcommand;
use std::process::ExitCode;
use strack_sim::scenario::BadInput;

/// Simulate data centre fabrics, with the protocol code that runs in the kernel.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one scenario
    Run(run::Args),
    /// Run the regression list and compare with its limits: limits.json
    Limits(list::Args),
    /// Simulate what papers report: report.html, report.json
    Paper(papers::Args),
    /// Print what can be said without a network: model.json
    Model(theory::Args),
    /// Measure what a simulation costs: speed.json
    Speed(speed::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Limits(args) => list::run(&args),
        Command::Paper(args) => papers::run(&args),
        Command::Model(args) => theory::run(&args),
        Command::Speed(args) => speed::run(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("strack-sim: {error:#}");
            // Like an option that does not exist.
            ExitCode::from(if error.is::<BadInput>() { 2 } else { 1 })
        }
    }
}
