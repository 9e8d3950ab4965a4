// SPDX-License-Identifier: MIT
//! Structs: packed structs of SystemVerilog.

use crate::attributes::{self, Attributes};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{DataStruct, DeriveInput, Expr, Field, Fields};

/// `Signal` for a struct with named fields, the first of which is the most significant.
pub fn implementation(input: &DeriveInput, data: &DataStruct) -> syn::Result<TokenStream> {
    let Fields::Named(fields) = &data.fields else {
        return Err(syn::Error::new_spanned(&input.ident, "a signal's fields have names"));
    };
    let attributes = Attributes::of(input)?;
    if let Some(width) = &attributes.width {
        return Err(syn::Error::new_spanned(width, "a struct is as wide as its fields together"));
    }
    if let Some(prefix) = &attributes.prefix {
        return Err(syn::Error::new_spanned(prefix, "the items of an enum have a prefix"));
    }
    let fields: Vec<&Field> = fields.named.iter().collect();
    if fields.is_empty() {
        return Err(syn::Error::new_spanned(&input.ident, "a signal has at least one bit"));
    }
    for field in &fields {
        attributes::refuse(&field.attrs, "signal", "of types alone; `#[draw(...)]` is of fields")?;
    }

    let name = &input.ident;
    let sv = attributes.sv.map_or_else(|| attributes::snake_case(name, "_t"), |sv| sv.value());
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let names: Vec<_> = fields.iter().map(|field| field.ident.as_ref()).collect();
    let texts =
        fields.iter().filter_map(|field| field.ident.as_ref()).map(|n| n.unraw().to_string());
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    // Fields may have any name, those of the parameters as well.
    let values: Vec<_> = (0..fields.len()).map(|i| format_ident!("value_{i}")).collect();
    let upwards = names.iter().rev();
    let (upward_values, upward_types) = (values.iter().rev(), types.iter().rev());
    let draws = fields.iter().map(|field| draw(field)).collect::<syn::Result<Vec<_>>>()?;
    Ok(quote! {
        impl #generics ::pimlico_ports::Signal for #name #arguments #bounds {
            const WIDTH: u32 = 0 #(+ <#types as ::pimlico_ports::Signal>::WIDTH)*;
            const DRAWS: usize = 0 #(+ <#types as ::pimlico_ports::Signal>::DRAWS)*;
            const SHAPE: ::pimlico_ports::Shape = ::pimlico_ports::Shape::Struct {
                name: #sv,
                fields: &[#((#texts, <#types as ::pimlico_ports::Signal>::SHAPE)),*],
            };

            #[inline]
            fn write(&self, bits: &mut ::pimlico_ports::BitWriter<'_>) {
                #(::pimlico_ports::Signal::write(&self.#upwards, bits);)*
            }

            #[inline]
            fn read(bits: &mut ::pimlico_ports::BitReader<'_>) -> Self {
                #(let #upward_values = <#upward_types as ::pimlico_ports::Signal>::read(bits);)*
                Self { #(#names: #values),* }
            }

            fn draw(entropy: &[u64]) -> Self {
                let mut rest = entropy;
                #(let #values = {
                    let (entropy, tail) =
                        rest.split_at(<#types as ::pimlico_ports::Signal>::DRAWS);
                    rest = tail;
                    #draws
                };)*
                let _ = rest;
                Self { #(#names: #values),* }
            }
        }
    })
}

/// How a field is drawn from `entropy`.
fn draw(field: &Field) -> syn::Result<TokenStream> {
    let mut given = field.attrs.iter().filter(|attribute| attribute.path().is_ident("draw"));
    let Some(attribute) = given.next() else {
        let ty = &field.ty;
        return Ok(quote!(<#ty as ::pimlico_ports::Signal>::draw(entropy)));
    };
    if let Some(second) = given.next() {
        return Err(syn::Error::new_spanned(second, "given twice"));
    }
    let draw: Expr = attribute.parse_args()?;
    Ok(quote!((#draw)(entropy)))
}
