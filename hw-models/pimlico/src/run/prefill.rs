// SPDX-License-Identifier: MIT
//! A prompt that the host takes: which flags ask for it, and what the report says of it.

use super::arguments::flags;
use super::groups::Group;
use super::source::ModelArguments;
use crate::failure::Failure;
use crate::output::{self, Page, decimal, grouped};
use crate::policy::{PolicyName, threads};
use crate::run::arguments::RunArguments;
use crate::values::size;
use clap::{Args, ValueEnum};
use pimlico_stream::source::Reading;
use pimlico_workload::decode::HostPrefill;
use pimlico_workload::prefill::Threads;
use pimlico_workload::report::decode::PrefillReport;
use std::num::NonZero;
use std::sync::Arc;

/// Who takes the prompt.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// The device, token by token as it decodes
    Device,
    /// The host, with weights out of the banks: GEMM in float32
    Host,
}

/// The prompt on the host.
#[derive(Args, Clone)]
#[command(next_help_heading = "Prompt on the host, with weights out of the banks (PIM-SHERPA)")]
pub(super) struct OnHost {
    /// Who takes the prompt [default: device]
    #[arg(long, value_enum)]
    prefill: Option<By>,
    /// How weights come to the host's GEMM [default: ddb]
    #[arg(long, value_enum)]
    policy: Option<PolicyName>,
    /// Memory of each buffer, as 32M: K, M and G are powers of 1024 [default: that of the largest group]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    buffer: Option<u64>,
    /// Threads that copy beside GEMM, of ddb; elsewhere those of GEMM copy [default: 1]
    #[arg(long, value_name = "N", value_parser = threads)]
    copy_threads: Option<usize>,
    /// Threads of GEMM [default: 1]
    #[arg(long, value_name = "N", value_parser = threads)]
    compute_threads: Option<usize>,
}

impl Group for OnHost {
    fn put(self, to: &mut RunArguments) {
        to.on_host = Some(self);
    }
}

impl OnHost {
    /// How weights come to GEMM.
    fn policy(&self) -> PolicyName {
        self.policy.unwrap_or(PolicyName::Ddb)
    }

    /// The flags that ask for the same, each with a space before it.
    pub(super) fn words(&self) -> String {
        if self.prefill != Some(By::Host) {
            return String::new();
        }
        let Self { buffer, copy_threads, compute_threads, .. } = self;
        flags([
            ("prefill", Some("host".to_owned())),
            ("policy", Some(self.policy().policy().name().to_owned())),
            // A size is read as a whole number of KiB or more.
            ("buffer", buffer.map(|bytes| format!("{}K", bytes >> 10))),
            ("copy-threads", copy_threads.map(|number| number.to_string())),
            ("compute-threads", compute_threads.map(|number| number.to_string())),
        ])
    }

    /// What is asked for, if it is.
    pub(super) fn asked(
        &self,
        is_streamed: bool,
        model: &ModelArguments,
    ) -> Result<Option<HostPrefill>, Failure> {
        let Self { prefill, policy, buffer, copy_threads, compute_threads } = self;
        if *prefill != Some(By::Host) {
            let given = [
                ("--policy", policy.is_some()),
                ("--buffer", buffer.is_some()),
                ("--copy-threads", copy_threads.is_some()),
                ("--compute-threads", compute_threads.is_some()),
            ];
            let given = given.into_iter().find(|(_, is_given)| *is_given);
            return given.map_or(Ok(None), |(flag, _)| {
                Err(Failure::Input(format!("{flag}: it goes with --prefill host")))
            });
        }
        let policy = self.policy().policy();
        let wrong = |why: &str| Err(Failure::Input(why.to_owned()));
        if buffer.is_some() && policy.buffers() == 0 {
            return wrong("--buffer: it goes with --policy ddb or owr");
        }
        if is_streamed {
            return wrong(
                "--prefill host: it does not go with --residency, where layers come and go",
            );
        }
        let source = model.open(Reading::default())?.source.with_head_streamed();
        let [copy, compute] =
            [copy_threads, compute_threads].map(|count| count.and_then(NonZero::new));
        let one = NonZero::<usize>::MIN;
        let threads = Threads { copy: copy.unwrap_or(one), compute: compute.unwrap_or(one) };
        Ok(Some(HostPrefill { source: Arc::new(source), policy, threads, buffer: *buffer }))
    }
}

/// The part of the report for people.
pub(super) fn page(report: &PrefillReport) -> Page {
    let PrefillReport { policy, copy_threads, compute_threads, buffers, .. } = report;
    let title = format!(
        "\nPrompt on the host: policy {policy}, threads: copy {copy_threads}, compute {compute_threads}\n\n"
    );
    let rows = output::table(
        &["weights, bytes", "extra cacheable", "buffers", "bytes of each", "copied", "groups"],
        [vec![
            grouped(report.weight_bytes),
            grouped(report.extra_bytes),
            grouped(*buffers as u64),
            grouped(report.buffer_bytes),
            grouped(report.copied_bytes),
            grouped(report.groups as u64),
        ]],
    );
    let loaded = report.loaded.as_ref().map_or(String::new(), |loaded| {
        let (bytes, tck) = (grouped(loaded.bytes), grouped(loaded.cycles));
        let bus = decimal(100.0 * loaded.bus, 1);
        format!("weights loaded out of the banks: {bytes} bytes in {tck} tCK, data bus {bus} % busy; not in the total\n")
    });
    let end = format!(
        "{loaded}SHA-256 of the logits behind the prompt {}\nSHA-256 of the text {}\n",
        report.logits_sha256, report.text_sha256
    );
    Page::from(title) + rows + end
}
