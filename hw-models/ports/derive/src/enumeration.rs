// SPDX-License-Identifier: MIT
//! Enums: enums of SystemVerilog.

use crate::attributes::{self, Attributes};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DataEnum, DeriveInput, Fields, Variant};

/// `Signal` and `Enumerated` for an enum without fields.
pub fn implementation(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let attributes = Attributes::of(input)?;
    let name = &input.ident;
    let Some(width) = &attributes.width else {
        return Err(syn::Error::new_spanned(name, "an enum needs `#[signal(width = ...)]`"));
    };
    let bits: u32 = width.base10_parse()?;
    if !(1..=32).contains(&bits) {
        return Err(syn::Error::new_spanned(width, "an enum has 1 to 32 bits"));
    }
    for variant in &data.variants {
        check(variant)?;
    }
    // The simplest value is drawn where there is no entropy.
    let is_default =
        |variant: &&Variant| variant.attrs.iter().any(|a| a.path().is_ident("default"));
    let mut drawn: Vec<&Variant> = data.variants.iter().collect();
    drawn.sort_by_key(|variant| !is_default(variant));

    let sv = attributes.sv.map_or_else(|| attributes::snake_case(name, "_e"), |sv| sv.value());
    let prefix = attributes.prefix.map(|prefix| prefix.value()).unwrap_or_default();
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let items = variants.iter().map(|variant| format!("{prefix}{}", variant.unraw()));
    let drawn = drawn.iter().map(|variant| &variant.ident);
    let too_wide = format!("a code of {name} has more than {bits} bits");
    Ok(quote! {
        const _: () = {
            #(assert!((#name::#variants as u64) >> #bits == 0, #too_wide);)*
        };

        impl ::pimlico_ports::Enumerated for #name {
            const ALL: &'static [Self] = &[#(Self::#variants),*];

            #[inline]
            fn code(self) -> u64 {
                self as u64
            }
        }

        impl ::pimlico_ports::Signal for #name {
            const WIDTH: u32 = #bits;
            const SHAPE: ::pimlico_ports::Shape = ::pimlico_ports::Shape::Enum {
                name: #sv,
                width: #bits,
                items: &[#((#items, Self::#variants as u64)),*],
            };

            #[inline]
            fn write(&self, bits: &mut ::pimlico_ports::BitWriter<'_>) {
                bits.put(*self as u64, #bits);
            }

            #[inline]
            fn read(bits: &mut ::pimlico_ports::BitReader<'_>) -> Self {
                ::pimlico_ports::Enumerated::from_code(bits.take(#bits)).unwrap_or_default()
            }

            fn draw(entropy: &[u64]) -> Self {
                const DRAWN: &[#name] = &[#(#name::#drawn),*];
                DRAWN[(entropy[0] % DRAWN.len() as u64) as usize]
            }
        }
    })
}

/// Refuses what has no twin in SystemVerilog.
fn check(variant: &Variant) -> syn::Result<()> {
    let fail = |why| Err(syn::Error::new_spanned(variant, why));
    if !matches!(variant.fields, Fields::Unit) {
        return fail("an item of an enum on a port has no fields");
    }
    if variant.discriminant.is_none() {
        return fail("an item of an enum on a port says its code: `Name = 0`");
    }
    attributes::refuse(&variant.attrs, "signal", "of the enum, not of its items")?;
    attributes::refuse(&variant.attrs, "draw", "of the fields of structs alone")
}
