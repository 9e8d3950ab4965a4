// SPDX-License-Identifier: MIT
//! The attribute `#[signal(...)]` of a type.

use syn::{Attribute, DeriveInput, Ident, LitInt, LitStr};

/// What `#[signal(width = 4, sv = "pin_command_e", prefix = "Pin")]` says.
#[derive(Default)]
pub struct Attributes {
    /// Width in bits; of enums alone.
    pub width: Option<LitInt>,
    /// Name of the type in SystemVerilog.
    pub sv: Option<LitStr>,
    /// What stands before the names of the items in SystemVerilog; of enums alone.
    pub prefix: Option<LitStr>,
}

impl Attributes {
    /// Reads the attributes of a type.
    pub fn of(input: &DeriveInput) -> syn::Result<Self> {
        let mut found = Self::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("signal"))
        {
            attribute.parse_nested_meta(|meta| {
                let known = meta.path.get_ident().map(Ident::to_string);
                match known.as_deref() {
                    Some("width") => set(&mut found.width, &meta),
                    Some("sv") => set(&mut found.sv, &meta),
                    Some("prefix") => set(&mut found.prefix, &meta),
                    _ => Err(meta.error("expected `width`, `sv` or `prefix`")),
                }
            })?;
        }
        Ok(found)
    }
}

fn set<T: syn::parse::Parse>(
    slot: &mut Option<T>,
    meta: &syn::meta::ParseNestedMeta<'_>,
) -> syn::Result<()> {
    if slot.is_some() {
        return Err(meta.error("given twice"));
    }
    *slot = Some(meta.value()?.parse()?);
    Ok(())
}

/// Refuses attributes of the derive macro where they mean nothing.
pub fn refuse(attributes: &[Attribute], name: &str, why: &str) -> syn::Result<()> {
    match attributes.iter().find(|attribute| attribute.path().is_ident(name)) {
        Some(attribute) => Err(syn::Error::new_spanned(attribute, why)),
        None => Ok(()),
    }
}

/// The name in SystemVerilog of a type that gives none: `ArrayRequest` is `array_request_t`.
pub fn snake_case(name: &Ident, suffix: &str) -> String {
    let name = name.to_string();
    let mut snake = String::new();
    let mut after_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = !letter.is_uppercase();
        snake.extend(letter.to_lowercase());
    }
    snake + suffix
}
