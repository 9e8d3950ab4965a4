// SPDX-License-Identifier: MIT
//! Comparisons: `sweep`, and an AiM beside the public simulator.

use crate::{json, number, refused};

#[test]
fn io_buffers_are_compared() {
    let comparison =
        json("sweep io-buffers --contexts 1024 --channels 2 --tp 64 --refresh off --json");
    let rows = comparison["rows"].as_array().expect("a list");
    let names: Vec<_> = rows.iter().map(|row| &row["operator"]).collect();
    assert_eq!(names, ["score", "context", "ffn1", "ffn2"]);
    for row in rows {
        let reduction = row["reduction_percent"].as_f64().expect("a number");
        assert!(reduction > 0.0 && reduction < 80.0, "{row}");
        assert!(row["paper_percent"].is_f64());
        assert_eq!(row["ping_pong"]["slots"]["lost"]["io"], 0);
    }
}

#[test]
fn gains_of_io_buffers_are_compared_by_what_is_assumed() {
    let small = "sweep io-buffers --contexts 64,1024 --channels 2 --tp 512,1024 --refresh off";
    let gains = json(&format!("{small} --assumptions --json"));
    assert_eq!((&gains["context"], &gains["tp"]), (&1024.into(), &512.into()));
    let rows = gains["rows"].as_array().expect("a list");
    let single = |row: &serde_json::Value| row["operators"][0]["single"]["cycles"].as_u64();
    let named = |name: &str| rows.iter().find(|row| row["name"] == name).expect(name);
    let papers = named("mode change, a token of K in a row");
    assert_eq!(papers["assumptions"]["k_row_tokens"], 1);
    assert!(single(papers) > single(named("but no mode change")));
    for row in rows {
        let operators = row["operators"].as_array().expect("a list");
        assert_eq!(operators.len(), 4, "{row}");
    }
    let off = "--mode-change off --k-row-tokens 1 --order output-stationary --tile 512";
    let comparison = json(&format!("{small} {off} --page-bytes 1024 --pu-clocks 8 --json"));
    let assumed = &comparison["assumptions"];
    assert_eq!((&assumed["order"], &assumed["tile"]), (&"output-stationary".into(), &512.into()));
    assert_eq!((&assumed["page_bytes"], &assumed["pu_clocks"]), (&1024.into(), &8.into()));
    refused("sweep io-buffers --assumptions --tile 512");
    refused("sweep io-buffers --pu-clocks 27");
}

#[test]
fn single_buffers_of_an_aim_pay_for_mode_changes() {
    let cycles = |flags: &str| {
        let line = "run aim gemv --rows 64 --cols 300 --channels 1 --refresh off";
        json(&format!("{line} {flags} --json"))["total"]["cycles"].as_u64().expect("a number")
    };
    let [off, on] = ["off", "on"].map(|on| format!("--io-buffers single --mode-change {on}"));
    assert!(cycles(&on) > cycles(&off));
    assert_eq!(cycles("--mode-change on"), cycles("--mode-change off"));
}

/// SK hynix' public AiM simulator takes 414 and 18 432 tCK.
#[test]
fn without_the_pus_pipeline_an_aim_takes_what_the_public_simulator_takes() {
    for (rows, tck) in [(16, 418), (1024, 18_436)] {
        let matrix = format!("run aim gemv --rows {rows} --cols 1024 --channels 1");
        let buffers = "--io-buffers single --refresh off --pu-clocks 1";
        let report = json(&format!("{matrix} {buffers} --json"));
        assert_eq!(report["total"]["cycles"], tck);
        assert_eq!(report["module"]["pu_clocks"], 1);
    }
    refused("run aim gemv --rows 9 --cols 9 --pu-clocks 27");
    refused("run aim gemv --rows 9 --cols 9 --channels 2 --pu-clocks 1 --backend model");
}

#[test]
fn heads_of_an_aim_may_share_rows_and_run_beside_softmax() {
    let line = "run aim attention --heads 4 --group 4 --context 300 --channels 2 --json";
    let of = |flags: &str| json(&format!("{line} {flags}"));
    let off = of("--head-pipeline off --shared-rows off --softmax-lanes 2");
    assert_eq!(off["module"], of("")["module"]);
    for flags in ["--softmax-lanes 16", "--head-pipeline on", "--shared-rows on"] {
        let report = of(flags);
        assert!(number(&report, "total.cycles") < number(&off, "total.cycles"), "{flags}");
        assert_eq!(report["judged"]["differing"], 0, "{flags}");
    }
    // Of two K and V heads side by side one has fewer queries: they run as the other's do.
    let uneven = "run aim attention --heads 5 --group 4 --groups 2 --channels 16 --context 1100";
    let uneven = json(&format!("{uneven} --shared-rows on --json"));
    assert_eq!(uneven["judged"]["differing"], 0);
    let hub = of("--shared-rows on --backend model");
    assert_eq!((&hub["judged"]["differing"], &hub["pin_violations"]), (&0.into(), &0.into()));
    let on_hub = "run aim attention --channels 2 --backend model";
    for flags in ["--softmax-lanes 4", "--head-pipeline on"] {
        refused(&format!("{on_hub} {flags}"));
    }
    refused("run aim attention --head-pipeline on --shared-rows on");
    refused("run aim attention --softmax-lanes 3");
}

#[test]
fn numerics_are_compared() {
    let comparison = json("sweep numerics --head-dim 128 --context 64,2000 --json");
    let rows = comparison["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2 * 2 * 4);
    assert!(rows.iter().all(|row| row["bubble"] == 0 && row["pin_violations"] == 0));
    refused("sweep numerics --head-dim 0");
    refused("sweep numerics --context 0");
}

#[test]
fn a_vendors_choices_are_compared() {
    let report = json("sweep vendor --quick --tokens 2 --json");
    let rows = report["rows"].as_array().expect("a list");
    let left_out = report["left_out"].as_array().expect("a list");
    assert_eq!((rows.len() + left_out.len(), &report["sweep"]), (9, &"vendor".into()));
    for row in rows {
        let cells = row["cells"].as_array().expect("a list");
        let choice = |cell: &serde_json::Value| {
            ["chip_gbit", "faw_banks", "mdq"].map(|key| cell[key].to_string()).join(" ")
        };
        let choices: Vec<_> = cells.iter().map(choice).collect();
        let expected = ["8 16", "8 4", "16 16", "16 4"]
            .into_iter()
            .flat_map(|chips| ["private", "shared"].map(|mdq| format!("{chips} \"{mdq}\"")));
        assert_eq!(choices, expected.collect::<Vec<_>>());
        let tck = |cell: usize| cells[cell]["tck"].as_u64().expect("a number");
        assert!(tck(0) < tck(2) && tck(0) <= tck(1), "{row}");
        assert!(cells[1]["least_tck"].is_u64() == row["on_both_ranks"].as_bool().expect("one"));
        assert!(cells[0]["slots"]["lost"]["bubble"].is_u64());
    }
    refused("sweep vendor --quick --tokens 0");
    refused("sweep vendor --quick --weights nowhere");
}

#[test]
fn batches_grow_with_lazy_allocation() {
    let report = json("sweep batch --memory 128 --max-context 32768 --requests 100 --json");
    assert_eq!(report["paper_increase_percent"], 380.0);
    let points = report["points"].as_array().expect("a list");
    let tasks: Vec<_> =
        points.iter().map(|point| point["task"].as_str().expect("a name")).collect();
    assert_eq!(tasks, ["qmsum", "hotpotqa", "musique"]);
    for point in points {
        assert_eq!(point["ranks"], 256);
        assert_eq!(point["static"]["batch"], 7.0); // (128 GiB - 15.4 GB) / 16 GiB
        // The layout that runs has three rows where the other has two.
        let (streams, module) = (&point["max_rows"], &point["module"]["max_rows"]);
        assert_eq!((streams, module), (&2048.into(), &3072.into()));
        assert_eq!(point["module"]["static"]["batch"], 4.0);
        let [increase, lengths] = ["increase_percent", "lengths_percent"]
            .map(|key| point[key].as_f64().expect("a number"));
        assert!(0.0 < increase && increase <= lengths, "{increase} {lengths}");
    }
}

#[test]
fn pim_sherpas_figures_are_beside_ours() {
    let study = |flags: &str| json(&format!("sweep sherpa --study {flags} --json"));
    for table in ["table-2", "ttft", "speedup", "limited"] {
        let study = study(table);
        let figures = study["figures"].as_array().expect("a list");
        assert!(!figures.is_empty(), "{table}");
        for figure in figures {
            assert_eq!(figure["holds"], true, "{table}: {figure}");
        }
    }
    let two = study("table-2");
    let of_gemm: Vec<_> = two["tables"][0]["rows"].as_array().expect("rows").iter().collect();
    assert_eq!((&of_gemm[2][3], &of_gemm[2][5]), (&250.0.into(), &150.0.into()));
    assert_eq!(study("table-2 --flop-per-byte 207")["figures"][0]["holds"], true);
    // Of padding in MiB, and of buffers that do not hold the largest matrix.
    let capacity = study("capacity");
    let figures = capacity["figures"].as_array().expect("a list");
    let outside: Vec<_> = figures.iter().filter(|figure| figure["holds"] == false).collect();
    let outside: Vec<_> = outside.iter().map(|figure| figure["what"].as_str()).collect();
    let expected =
        ["llama-3.2-1b: DDB saves, %", "llama-3.2-3b: OWR saves, %", "llama-3.2-3b: DDB saves, %"];
    assert_eq!(outside, expected.map(Some));
    assert_eq!(study("ttft --contention 1.4")["figures"][2]["holds"], false);
    let roomy = study("capacity --cma 8G");
    assert_eq!(roomy["tables"], capacity["tables"]);
    let message = refused("sweep sherpa --study capacity --cma 1G");
    let small = "--cma: llama-3.2-1b: 2550272000 bytes of contiguous memory that is not cacheable, expected at most \
                 1073741824";
    assert!(message.contains(small), "{message}");
    refused("sweep sherpa --study ttft --cma 8G");
    refused("sweep sherpa --study emulation --contention 2");
    refused("sweep sherpa --study capacity --contention 2");
    refused("sweep sherpa --study ttft --flop-per-byte 4");
    refused("sweep sherpa --study table-2 --flop-per-byte 0");
}

/// PIM-SHERPA's Table 4: both times are the engine's.
#[test]
fn requests_take_as_long_on_plain_lpddr5x() {
    let plot = concat!(env!("CARGO_TARGET_TMPDIR"), "/emulation.svg");
    let study = json(&format!("sweep sherpa --study emulation --json --plot {plot}"));
    assert_eq!(study["violations"], 0);
    let (rows, figures) = (&study["tables"][0]["rows"], &study["figures"]);
    let (rows, figures) = (rows.as_array().expect("rows"), figures.as_array().expect("a list"));
    assert_eq!((rows.len(), figures.len()), (8, 8));
    for (row, figure) in rows.iter().zip(figures) {
        assert_eq!(figure["holds"], true, "{figure}");
        let [inputs, macs, pim, plain] =
            [1, 3, 4, 5].map(|column| row[column].as_f64().expect("a number"));
        let outputs = row[0].as_f64().expect("a number");
        // A MAC is 16 rows of a column in 64 banks, in every tCCD_L of 4 tCK.
        assert_eq!(macs, outputs * inputs / 1024.0);
        assert!(pim > 4.0 * macs && pim < 6.0 * macs, "{row}");
        assert!((plain / pim - 1.0).abs() < 0.04, "{row}");
    }
    let picture = std::fs::read_to_string(plot).expect("a picture");
    assert!(picture.contains("<svg"));
}
