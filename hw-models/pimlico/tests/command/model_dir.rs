// SPDX-License-Identifier: MIT
//! `--model-dir`: a language model in a folder as Hugging Face lays it out, and what is wrong with one.

use crate::common;
use pimlico_model::small;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder of a model in two shards.
fn folder(config: &str, tensors: &[small::Tensor]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (index, shards) = small::shards(tensors, "F32");
    write(folder.path(), "config.json", config);
    write(folder.path(), "model.safetensors.index.json", index);
    for (name, shard) in small::SHARDS.into_iter().zip(shards) {
        write(folder.path(), name, shard);
    }
    write(folder.path(), "tokenizer.json", small::TOKENIZER_JSON);
    write(folder.path(), "tokenizer.bin", small::tokenizer());
    folder
}

fn qwen3() -> TempDir {
    folder(small::QWEN3, &small::qwen3_tensors())
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).expect("it can be written");
}

fn replace(folder: &Path, name: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(folder.join(name)).expect("text");
    assert!(text.contains(from), "{from}");
    write(folder, name, text.replace(from, to));
}

fn decode(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(["run", "l3", "decode", "--json", "--tokens", "3", "--model-dir"])
        .arg(folder)
        .args(arguments)
        .output()
        .expect("the command runs")
}

/// With the tokenizer of llama2.c, which every build reads.
fn decode_llama2c(folder: &Path) -> Output {
    let tokenizer = folder.join("tokenizer.bin");
    decode(folder, &["--prompt", "bb", "--tokenizer", tokenizer.to_str().expect("text")])
}

fn report(output: &Output) -> serde_json::Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    common::document(&output.stdout)
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr.clone()).expect("text");
    let lines = text.lines().filter(|line| !line.starts_with("pimlico: note: "));
    let message: Vec<_> = lines.collect();
    assert_eq!(message.len(), 1, "{text}");
    message[0].to_owned()
}

/// A safetensors file whose header names a tensor once more.
fn with_a_tensor_twice(file: &[u8]) -> Vec<u8> {
    let (length, rest) = file.split_first_chunk().expect("a length");
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header = std::str::from_utf8(header).expect("text").trim_end();
    let all: serde_json::Value = serde_json::from_str(header).expect("JSON");
    let (name, tensor) = all.as_object().expect("an object").iter().next_back().expect("a tensor");
    let inside = header.strip_suffix('}').expect("an object");
    let header = format!("{inside}, {name:?}: {tensor}}}");
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn shards_decode_as_one_file_does() {
    for (config, tensors) in
        [(small::CONFIG, small::tensors()), (small::QWEN3, small::qwen3_tensors())]
    {
        let config =
            config.replace("\"max_position_embeddings\": 5", "\"max_position_embeddings\": 9");
        let folder = folder(&config, &tensors);
        let sharded = report(&decode_llama2c(folder.path()));
        assert_eq!(sharded["agreement"]["equal"], sharded["agreement"]["compared"]);
        write(folder.path(), "model.safetensors", small::file(&tensors, "F32"));
        std::fs::remove_file(folder.path().join("model.safetensors.index.json")).expect("removed");
        let whole = report(&decode_llama2c(folder.path()));
        assert_eq!(whole["text"], sharded["text"]);
        assert_eq!(whole["total"], sharded["total"]);
        assert_eq!(whole["agreement"], sharded["agreement"]);
    }
}

#[test]
fn what_is_no_model_s_folder_is_refused() {
    const INDEX: &str = "model.safetensors.index.json";
    let [first, second] = small::SHARDS;
    let spoilt = |spoil: &dyn Fn(&Path)| {
        let folder = qwen3();
        spoil(folder.path());
        refused(&decode_llama2c(folder.path()))
    };
    let remove =
        |folder: &Path, name: &str| std::fs::remove_file(folder.join(name)).expect("removed");

    let message = spoilt(&|folder| remove(folder, second));
    let expected = format!(
        "{INDEX}: weight_map.model.layers.0.input_layernorm.weight: {second}: No such file or directory"
    );
    assert!(message.contains(&expected), "{message}");
    let embedding = format!("\"model.embed_tokens.weight\": \"{first}\"");
    let outside = concat!("..", "/model.safetensors");
    let leads_out = format!("\"model.embed_tokens.weight\": \"{outside}\"");
    let message = spoilt(&|folder| replace(folder, INDEX, &embedding, &leads_out));
    let expected = format!(
        "{INDEX}: weight_map.model.embed_tokens.weight: \"{outside}\", expected a .safetensors file beside \
         the index"
    );
    assert!(message.contains(&expected), "{message}");
    let message = spoilt(&|folder| {
        let twice = format!("{embedding}, {}", embedding.replace(first, second));
        replace(folder, INDEX, &embedding, &twice);
    });
    assert!(message.contains("key \"model.embed_tokens.weight\" twice"), "{message}");
    let message = spoilt(&|folder| {
        let both = small::file(&small::qwen3_tensors()[..2], "F32");
        write(folder, first, both);
    });
    let expected =
        format!("weight_map.model.layers.0.input_layernorm.weight: in {first}, expected");
    assert!(message.contains(INDEX) && message.contains(&expected), "{message}");
    let message = spoilt(&|folder| replace(folder, "config.json", "size\": 8", "size\": 16"));
    let expected =
        format!("{INDEX}: {first}: tensor model.layers.1.input_layernorm.weight: shape [8]");
    assert!(message.contains(&expected), "{message}");

    let message = spoilt(&|folder| {
        let shard = std::fs::read(folder.join(second)).expect("a shard");
        write(folder, second, with_a_tensor_twice(&shard));
    });
    let expected = format!("{INDEX}: {second}: header: key \"");
    assert!(message.contains(&expected) && message.contains("\" twice, expected each tensor once"));

    let message = spoilt(&|folder| remove(folder, INDEX));
    assert!(message.contains("expected model.safetensors or model.safetensors.index.json in it"));
    assert!(spoilt(&|folder| remove(folder, "config.json")).contains("config.json: No such file"));
    let message = spoilt(&|folder| replace(folder, "config.json", "llama3", "yarn"));
    assert!(message.contains("config.json: rope_parameters.rope_type: \"yarn\""), "{message}");
    let message = spoilt(&|folder| {
        replace(folder, "config.json", "\"vocab_size\": 11", "\"vocab_size\": 12")
    });
    assert!(message.contains("tokenizer.bin: the end: 11 tokens, expected 12"), "{message}");

    let folder = qwen3();
    for more in [["--weights", "a"], ["--config", "b"]] {
        assert!(refused(&decode(folder.path(), &more)).contains("expected --model-dir DIR, or"));
    }
}

#[cfg(not(feature = "hf-tokenizers"))]
#[test]
fn a_build_without_tokenizers_says_how_to_have_them() {
    let message = refused(&decode(qwen3().path(), &[]));
    assert!(message.contains("tokenizer.json: to read it, build with"), "{message}");
    assert!(message.contains("--features pimlico/hf-tokenizers"), "{message}");
}

#[cfg(feature = "hf-tokenizers")]
mod with_tokenizers {
    use super::*;

    #[test]
    fn a_folder_decodes_with_its_own_tokenizer() {
        let folder = qwen3();
        let output = decode(folder.path(), &["--prompt", "cd ab"]);
        let note = String::from_utf8(output.stderr.clone()).expect("text");
        assert!(note.contains("note: ") && note.contains("10 tokens, the model has 11"), "{note}");
        let report = report(&output);
        // <s>, cd, a space with a, b: the merge of a and b comes before that of the space and a.
        assert_eq!(report["prompt_tokens"], 4);
        let text = report["text"].as_str().expect("text");
        assert!(text.starts_with("cd ab"), "{text:?}");
        assert_eq!(report["agreement"]["compared"], 3);
        assert_eq!(report["agreement"]["equal"], 3);
        assert_eq!(report["model"], folder.path().to_str().expect("text"));
    }

    #[test]
    fn what_ends_a_text_stands_in_several_files() {
        let folder = qwen3();
        let whole = report(&decode(folder.path(), &["--prompt", "c"]));
        let first = &whole["decoded_tokens"][0];
        let decoded = || {
            let report = report(&decode(folder.path(), &["--prompt", "c"]));
            report["decoded_tokens"].as_array().expect("a list").len()
        };
        assert_eq!(decoded(), 3);
        let generation = format!("{{\"eos_token_id\": [10, {first}], \"bos_token_id\": 0}}");
        write(folder.path(), "generation_config.json", generation);
        assert_eq!(decoded(), 0);
        // The first file that has it says it.
        write(folder.path(), "generation_config.json", "{\"eos_token_id\": 1}");
        let ends = format!("{{\"eos_token_id\": {first}, \"model_type\"");
        replace(folder.path(), "config.json", "{\"model_type\"", &ends);
        assert_eq!(decoded(), 3);
        write(folder.path(), "generation_config.json", "{}");
        assert_eq!(decoded(), 0);
    }

    #[test]
    fn a_tokenizer_that_does_not_fit_is_refused() {
        let spoilt = |name: &str, spoil: &dyn Fn(&Path)| {
            let folder = qwen3();
            spoil(folder.path());
            let message = refused(&decode(folder.path(), &["--prompt", "c"]));
            assert!(message.contains(name), "{message}");
            message
        };
        let message = spoilt("tokenizer.json: model.vocab: token 11, \"Ġa\"", &|folder| {
            replace(folder, "tokenizer.json", "\"Ġa\": 9", "\"Ġa\": 11");
        });
        assert!(message.contains("expected less than 11, the tokens that the model has"));
        spoilt("tokenizer.json: tokenizer: ", &|folder| write(folder, "tokenizer.json", "{\n}"));
        spoilt("generation_config.json: eos_token_id: -1", &|folder| {
            write(folder, "generation_config.json", "{\"eos_token_id\": [1, -1]}");
        });
        spoilt("tokenizer.json: eos_token_id: 11, expected less than 11", &|folder| {
            write(folder, "generation_config.json", "{\"eos_token_id\": 11}");
        });
        spoilt("tokenizer.json: eos_token: \"<end>\"", &|folder| {
            write(folder, "tokenizer_config.json", "{\"eos_token\": {\"content\": \"<end>\"}}");
        });
        spoilt("tokenizer.json: No such file", &|folder| {
            std::fs::remove_file(folder.join("tokenizer.json")).expect("removed");
        });
    }

    #[test]
    fn an_empty_prompt_needs_a_token_that_begins() {
        let folder = qwen3();
        let template = "{\"type\": \"TemplateProcessing\",";
        let text = std::fs::read_to_string(folder.path().join("tokenizer.json")).expect("text");
        let from = text.find(template).expect("a template");
        let to = text.find("\"decoder\"").expect("a decoder");
        let without = format!("{}null,\n{}", &text[..from], &text[to..]);
        write(folder.path(), "tokenizer.json", without);
        let message = refused(&decode(folder.path(), &["--prompt", ""]));
        assert!(message.contains("prompt: no token: expected a text"), "{message}");
        let tokens = |prompt| {
            let report = report(&decode(folder.path(), &["--prompt", prompt]));
            report["prompt_tokens"].as_u64().expect("a number")
        };
        assert_eq!(tokens("cd"), 1);
        write(folder.path(), "generation_config.json", "{\"bos_token_id\": 0}");
        assert_eq!((tokens(""), tokens("cd")), (1, 1));
        let adds = "{\"add_bos_token\": true, \"bos_token\": \"</s>\"}";
        write(folder.path(), "tokenizer_config.json", adds);
        assert_eq!((tokens(""), tokens("cd")), (1, 2));
    }
}

/// `layout convert` and `check` take the shards of a folder.
#[test]
fn matrices_of_shards_become_an_image() {
    let folder = qwen3();
    let layout = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
        command.arg("layout").args(arguments).current_dir(folder.path()).output().expect("it runs")
    };
    let told = |arguments: &[&str]| {
        let output = layout(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    told(&["convert", "--model-dir", ".", "-o", "shards.lp5"]);
    let tells = told(&["check", "shards.lp5", "--model-dir", ".", "--target", "row-major"]);
    assert!(tells.contains("padding is zero; row-major copies are the same"), "{tells}");
    let refuse = |arguments: &[&str]| refused(&layout(arguments));
    assert!(refuse(&["check", "shards.lp5", "--model-dir", "none"]).contains("none"));
    let both = ["check", "shards.lp5", "w.bin", "--model-dir", "."];
    assert!(refuse(&both).contains("cannot be used with"));
    std::fs::remove_file(folder.path().join(small::SHARDS[1])).expect("it was there");
    let message = refuse(&["convert", "--model-dir", ".", "-o", "n.lp5"]);
    assert!(message.contains(small::SHARDS[1]), "{message}");
    assert!(!folder.path().join("n.lp5").exists());
}
