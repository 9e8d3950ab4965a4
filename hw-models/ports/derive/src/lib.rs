// SPDX-License-Identifier: MIT
//! `#[derive(Signal)]` for `pimlico-ports`, which exports and documents it.

mod attributes;
mod enumeration;
mod structure;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, parse_macro_input};

/// Makes a struct or an enum a value on a port; see `pimlico_ports::Signal`.
#[proc_macro_derive(Signal, attributes(signal, draw))]
pub fn signal(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let implementation = match &input.data {
        Data::Struct(data) => structure::implementation(&input, data),
        Data::Enum(data) => enumeration::implementation(&input, data),
        Data::Union(data) => Err(syn::Error::new_spanned(
            data.union_token,
            "a signal is a struct or an enum, not a union",
        )),
    };
    implementation.unwrap_or_else(syn::Error::into_compile_error).into()
}
