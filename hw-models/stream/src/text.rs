// SPDX-License-Identifier: MIT
//! A text, decoded on the host while layers are streamed: one pass for the prompt, and one for each further token.

use crate::agents::Work;
use crate::event::Use;
use crate::host::Decoder;
use crate::source::{LayerSource, SourceError};
use memmap2::MmapMut;

/// A text that grows.
pub struct Text<'a> {
    source: &'a LayerSource,
    decoder: Decoder,
    /// The prompt's tokens, and those that were decoded.
    tokens: Vec<usize>,
    prompt: usize,
    wanted: usize,
    ends: &'a [usize],
    /// Those of this pass, if its head was streamed and has been used.
    of_pass: Option<Vec<f32>>,
    /// Sees the logits of each choice.
    logits: &'a mut dyn FnMut(&[f32]),
}

impl<'a> Text<'a> {
    /// `wanted` tokens behind a prompt, each that of the largest logit; fewer if one is in `ends`, which is not among
    /// them. `logits` sees the logits of each choice.
    ///
    /// # Panics
    ///
    /// If the prompt is empty.
    pub fn new(
        (source, decoder): (&'a LayerSource, Decoder),
        prompt: Vec<usize>,
        (wanted, ends): (usize, &'a [usize]),
        logits: &'a mut dyn FnMut(&[f32]),
    ) -> Result<Self, SourceError> {
        assert!(!prompt.is_empty(), "a prompt of a token or more");
        let mut decoder = decoder;
        decoder.begin(source, &prompt)?;
        let (prompt, tokens) = (prompt.len(), prompt);
        Ok(Self { source, decoder, prompt, tokens, wanted, ends, of_pass: None, logits })
    }

    /// The tokens of the prompt and those that were decoded.
    pub fn tokens(&self) -> (&[usize], &[usize]) {
        self.tokens.split_at(self.prompt)
    }
}

impl Work<MmapMut> for Text<'_> {
    type Error = SourceError;

    fn layer(&mut self, used: Use, slot: &MmapMut) -> Result<(), SourceError> {
        let Self { source, decoder, .. } = self;
        match source.streamed_head() {
            Some(head) if used.layer == source.places().layers.len() => {
                self.of_pass = Some(decoder.streamed_logits(head, slot));
            }
            _ => decoder.layer(used.layer, source.layer(used.layer), slot),
        }
        Ok(())
    }

    fn pass(&mut self, _: usize) -> Result<bool, SourceError> {
        let logits = self.of_pass.take().unwrap_or_else(|| self.decoder.logits());
        (self.logits)(&logits);
        let token = largest(&logits);
        if self.ends.contains(&token) {
            return Ok(false);
        }
        self.tokens.push(token);
        let goes_on = self.tokens.len() < self.prompt + self.wanted;
        if goes_on {
            self.decoder.begin(self.source, &[token])?;
        }
        Ok(goes_on)
    }
}

/// The place of the first of the largest logits.
fn largest(logits: &[f32]) -> usize {
    let mut best = 0;
    for (place, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = place;
        }
    }
    best
}
