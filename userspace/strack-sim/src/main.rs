// SPDX-License-Identifier: GPL-2.0
//! `strack-sim`: simulate the protocol in a fabric that nobody has at hand.

mod list;
mod papers;
mod run;
mod speed;
mod theory;

use clap::error::ErrorKind;
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

/// Whether help is the answer, because it was asked for or there was nothing else.
fn is_help(error: &clap::Error) -> bool {
    !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if is_help(&error) => error.exit(),
        Err(error) => {
            // What it says beyond the first line is in the help.
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default();
            eprintln!("strack-sim: {}", message.trim_start_matches("error: "));
            return ExitCode::from(2);
        }
    };
    let result = match cli.command {
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
