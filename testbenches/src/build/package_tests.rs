// SPDX-License-Identifier: MIT
//! The comparison of the structs and enums of the RTL's package with those of `hw-models`.
use pimlico_dpa::clock::Gear;
use pimlico_ports::{PortInfo, Shape, Signal, U, UnitInfo};
use std::fs;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
#[signal(width = 2, sv = "array_kind_e", prefix = "Array")]
enum ArrayKind {
    #[default]
    ReadAll = 0,
    Rd = 1,
    CloseAll = 3,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
struct Mac {
    word: u8,
    first: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
struct ArrayRequest {
    kind: ArrayKind,
    bank: U<4>,
    row: u16,
    macs: [Mac; 2],
}

const PACKAGE: &str = "// Types.
package pimlico_pkg;
  localparam int unsigned BANK_BITS = 4;
  typedef logic [BANK_BITS-1:0] bank_t;  // typedef enum { Comment } comment_e;
  /// A kind.
  typedef enum logic [1:0] {
    ArrayReadAll  = 2'd0,  // a column
    ArrayRd       = 2'd1,
    ArrayCloseAll = 2'd3
  } array_kind_e;
  typedef struct packed {
    logic [7:0] word;
    logic       first;
  } mac_t;
  typedef struct packed {
    array_kind_e kind;
    bank_t       bank;
    logic [15:0] row;
    mac_t  [1:0] macs;
  } array_request_t;
endpackage
";

const MODULE: &str = "module sample
  import pimlico_pkg::*;
#(
  parameter int unsigned W = 8
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  /// A request (array_i).
  input  array_request_t array_i,
  input  logic [W-1:0]   data_i,
  output pimlico_pkg::array_kind_e [1:0] kinds_o
);
  mac_t mac_d, mac_q;
  logic [7:0] count_q;
endmodule
";

/// A port of type `T`.
const fn port<T: Signal>(name: &'static str) -> PortInfo {
    PortInfo { name, width: T::WIDTH, shape: T::SHAPE, doc: "" }
}

fn unit() -> UnitInfo {
    UnitInfo {
        name: "sample:set".to_owned(),
        module: "sample",
        parameters: &[],
        inputs: &[const { port::<ArrayRequest>("array_i") }, const { port::<u8>("data_i") }],
        outputs: &[const { port::<[ArrayKind; 2]>("kinds_o") }],
        probes: &[const { port::<Mac>("mac_q") }, const { port::<u8>("count_q") }],
        probed: ("sample", ""),
    }
}

/// What differs with one text in package or module replaced.
fn differences(right: &str, wrong: &str) -> Vec<String> {
    let texts = [("pimlico_pkg.sv", PACKAGE), ("sample.sv", MODULE)];
    let found = texts.iter().map(|(_, text)| text.matches(right).count()).sum::<usize>();
    assert_eq!(found, 1, "`{right}` stands once in the texts");
    compare(&texts.map(|(name, text)| (name, text.replace(right, wrong))), &[unit()], &[])
}

fn compare(texts: &[(&str, String)], units: &[UnitInfo], others: &[Shape]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |(name, text): &(&str, String)| -> PathBuf {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("writable");
        file
    };
    let sources: Vec<PathBuf> = texts.iter().map(write).collect();
    super::differences(units, others, &sources, folder.path()).expect("verilator accepts it")
}

#[test]
fn nothing_differs_where_nothing_is_changed() {
    assert_eq!(differences("// Types.", "// The types."), [""; 0]);
}

#[test]
fn swapped_fields_are_found() {
    assert_eq!(
        differences(
            "    bank_t       bank;\n    logic [15:0] row;\n",
            "    logic [15:0] row;\n    bank_t       bank;\n"
        ),
        ["struct array_request_t has the fields kind, bank, row, macs in hw-models, \
          kind, row, bank, macs in rtl"]
    );
    assert_eq!(
        differences(
            "    logic [7:0] word;\n    logic       first;\n",
            "    logic       first;\n    logic [7:0] word;\n"
        ),
        ["struct mac_t has the fields word, first in hw-models, first, word in rtl"]
    );
}

#[test]
fn a_field_of_another_width_is_found() {
    assert_eq!(
        differences("BANK_BITS = 4", "BANK_BITS = 3"),
        [
            "array_request_t is 40 bits wide in hw-models, 39 in rtl",
            "struct array_request_t: kind is [39:38] in hw-models, [38:37] in rtl",
            "struct array_request_t: bank is [37:34] in hw-models, [36:34] in rtl",
        ]
    );
}

#[test]
fn widths_that_make_up_for_each_other_are_found() {
    let [wider, narrower] = ["logic [16:0] row;", "BANK_BITS = 3"];
    let text = PACKAGE.replace("logic [15:0] row;", wider).replace("BANK_BITS = 4", narrower);
    let texts = [("pimlico_pkg.sv", text), ("sample.sv", MODULE.to_owned())];
    assert_eq!(
        compare(&texts, &[unit()], &[]),
        [
            "struct array_request_t: bank is [37:34] in hw-models, [37:35] in rtl",
            "struct array_request_t: row is [33:18] in hw-models, [34:18] in rtl",
        ]
    );
}

#[test]
fn a_changed_code_is_found() {
    assert_eq!(
        differences("ArrayRd       = 2'd1", "ArrayRd       = 2'd2"),
        ["enum array_kind_e: ArrayRd is 1 in hw-models, 2 in rtl"]
    );
}

#[test]
fn an_item_that_one_side_lacks_is_found() {
    assert_eq!(
        differences("ArrayRd       = 2'd1,", "ArrayRd       = 2'd1, ArrayWr = 2'd2,"),
        ["enum array_kind_e: ArrayWr is missing in hw-models"]
    );
    assert_eq!(
        differences("    ArrayRd       = 2'd1,\n", ""),
        ["enum array_kind_e: ArrayRd is missing in rtl"]
    );
}

#[test]
fn a_field_of_another_type_is_found() {
    assert_eq!(
        differences("array_kind_e kind;", "logic [1:0]  kind;"),
        ["struct array_request_t: kind is array_kind_e in hw-models, logic in rtl"]
    );
}

#[test]
fn a_port_of_another_type_is_found() {
    assert_eq!(
        differences("array_request_t array_i", "logic [39:0]    array_i"),
        ["sample:set: array_i is array_request_t in hw-models, logic in rtl"]
    );
    assert_eq!(
        differences("logic [W-1:0]   data_i", "array_kind_e [3:0] data_i"),
        ["sample:set: data_i is 8 bits in hw-models, array_kind_e in rtl"]
    );
    assert_eq!(
        differences("pimlico_pkg::array_kind_e [1:0]", "wire pimlico_pkg::mac_t"),
        ["sample:set: kinds_o is array_kind_e in hw-models, mac_t in rtl"]
    );
    assert_eq!(
        differences("mac_t mac_d", "logic [8:0] mac_d"),
        ["sample:set: mac_q is mac_t in hw-models, logic in rtl"]
    );
    // A type of the module's own hides that of the package.
    assert_eq!(
        differences(
            "  mac_t mac_d",
            "  typedef struct packed { logic [8:0] bits; } mac_t;\n  mac_t mac_d"
        ),
        ["sample:set: mac_q is mac_t in hw-models, a type of its own in rtl"]
    );
    assert_eq!(
        differences(
            "logic [7:0] count_q;",
            "typedef logic [7:0] array_kind_e; array_kind_e count_q;"
        ),
        ["sample:set: kinds_o is array_kind_e in hw-models, a type of its own in rtl"]
    );
}

#[test]
fn a_type_that_the_package_lacks_is_found() {
    assert_eq!(
        differences("} mac_t;", "} max_t;"),
        ["mac_t is missing in pimlico_pkg.sv", "max_t is missing in hw-models"]
    );
}

#[test]
fn types_that_are_on_no_port_are_compared_as_well() {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
    #[signal(sv = "mac_t")]
    struct Other {
        word: u8,
        last: bool,
    }
    let text = "package pimlico_pkg;
  typedef struct packed { logic [7:0] word; logic first; } mac_t;
endpackage";
    let texts = [("pimlico_pkg.sv", text.to_owned())];
    assert_eq!(compare(&texts, &[], &[Mac::SHAPE]), [""; 0]);
    assert_eq!(
        compare(&texts, &[], &[Other::SHAPE]),
        ["struct mac_t has the fields word, last in hw-models, word, first in rtl"]
    );
    assert_eq!(
        compare(&texts, &[], &[Mac::SHAPE, Other::SHAPE]),
        ["mac_t is two different types in hw-models"]
    );
    assert_eq!(compare(&texts, &[], &[]), ["mac_t is missing in hw-models"]);
}

#[test]
fn rtl_and_models_have_the_same_gear() {
    let package = pimlico_rtl::text!("pimlico_pkg.sv");
    let gear = format!("DEFAULT_GEAR = {};", Gear::DEFAULT.tck());
    assert!(package.contains(&gear), "{gear}");
}
