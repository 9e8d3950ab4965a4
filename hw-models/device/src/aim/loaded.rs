// SPDX-License-Identifier: MIT
//! What the host has loaded: command buffer, Va2Pa table and configuration, as the dispatcher keeps them, without its
//! cycles.

use pimlico_dpa::types::LoadKind;
use pimlico_dpa::{COMMANDS, ENTRIES, Expansion, NO_ROW, REQUESTS, Status, Tables};

/// Memories and configuration of a dispatcher.
pub struct Loaded {
    commands: Box<[u64]>,
    /// Words of the command buffer up to the last that was written.
    length: usize,
    tables: Tables,
    layers: [Layers; REQUESTS],
    /// The host has written what does not fit.
    overflow: bool,
}

/// The layers of a request.
#[derive(Clone, Copy, Default)]
struct Layers {
    /// How many there are, of which 0 is one.
    count: u16,
    /// Entries of the table from one to the next.
    stride: u16,
    /// The one that the request is at.
    layer: u16,
    /// The first entry of the first.
    base: u16,
}

impl Loaded {
    /// Those of a module that has been reset, with empty memories.
    pub fn new() -> Self {
        let tables = Tables { va2pa: Some(vec![NO_ROW; ENTRIES]), ..Tables::default() };
        let layers = [Layers::default(); REQUESTS];
        Self { commands: vec![0; COMMANDS].into(), length: 0, tables, layers, overflow: false }
    }

    /// A write of the host.
    pub fn load(&mut self, kind: LoadKind, address: u16, data: u64) {
        let at = usize::from(address);
        let (addresses, bits) = match kind {
            LoadKind::Clear => {
                (self.length, self.overflow) = (0, false);
                return;
            }
            LoadKind::Command => (COMMANDS, 64),
            LoadKind::Entry => (ENTRIES, 16),
            LoadKind::Tokens => (REQUESTS, 20),
            LoadKind::Segment | LoadKind::Layers => (REQUESTS, 32),
        };
        if at >= addresses || bits < 64 && data >> bits != 0 {
            self.overflow = true;
            return;
        }
        let Tables { requests, va2pa } = &mut self.tables;
        match kind {
            LoadKind::Command => {
                self.commands[at] = data;
                self.length = self.length.max(at + 1);
            }
            LoadKind::Entry => va2pa.as_mut().expect("there is a table")[at] = data as u16,
            LoadKind::Tokens => requests[at].tokens = data as u32,
            LoadKind::Segment => {
                requests[at].rows = (data >> 16) as u16;
                self.layers[at].base = data as u16;
                self.go_to_layer(at, 0);
            }
            LoadKind::Layers => {
                let Layers { count, stride, .. } = &mut self.layers[at];
                (*stride, *count) = (data as u16, (data >> 16) as u16);
                self.go_to_layer(at, 0);
            }
            LoadKind::Clear => {}
        }
    }

    /// A run of a request has ended its layer: behind the last comes the first.
    pub fn next_layer(&mut self, request: u8) {
        let at = usize::from(request);
        let Layers { count, layer, .. } = self.layers[at];
        self.go_to_layer(at, if layer + 1 < count { layer + 1 } else { 0 });
    }

    /// The rows of a layer that begins beyond the table are misses, whatever they are.
    fn go_to_layer(&mut self, at: usize, layer: u16) {
        let of_request = &mut self.layers[at];
        of_request.layer = layer;
        let base = u32::from(of_request.base) + u32::from(layer) * u32::from(of_request.stride);
        self.tables.requests[at].base = u16::try_from(base).unwrap_or(u16::MAX);
    }

    /// The commands that a program dispatches for a request.
    pub fn commands(&self, request: u8, address: u16) -> Result<Expansion<'_>, Status> {
        if self.overflow {
            return Err(Status::BufferOverflow);
        }
        let program = &self.commands[..self.length];
        Ok(Expansion::starting_at(program, &self.tables, request, address.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_dpa::assemble;

    #[test]
    fn a_program_runs_with_what_was_loaded() {
        let mut loaded = Loaded::new();
        let program =
            assemble("loop all/16 {\n  mac_score row=0+1@1\n}\nend\n").expect("a program");
        for (address, word) in (5..).zip(program) {
            loaded.load(LoadKind::Command, address, word);
        }
        loaded.load(LoadKind::Tokens, 3, 20);
        loaded.load(LoadKind::Segment, 3, 2 << 16 | 7);
        for (entry, row) in [(7, 40), (8, 30)] {
            loaded.load(LoadKind::Entry, entry, row);
        }
        let commands = loaded.commands(3, 5).expect("all fits");
        let rows: Vec<_> = commands.map(|command| command.expect("no fault").row).collect();
        assert_eq!(rows, [40, 30]);

        let status = |loaded: &Loaded| {
            let error = loaded.commands(3, 5)?.find_map(Result::err);
            error.map_or(Ok(()), |error| Err(error.status))
        };
        loaded.load(LoadKind::Tokens, 3, 33);
        assert_eq!(status(&loaded), Err(Status::Va2PaMiss));
        loaded.load(LoadKind::Entry, 0, 1 << 16);
        assert_eq!(status(&loaded), Err(Status::BufferOverflow));
        loaded.load(LoadKind::Clear, 0, 0);
        assert_eq!(status(&loaded), Err(Status::PastEnd), "the program is gone");
    }

    #[test]
    fn a_request_goes_from_layer_to_layer() {
        let mut loaded = Loaded::new();
        let program = assemble("mac_score row=1\nend layer\n").expect("a program");
        for (address, word) in (0..).zip(program) {
            loaded.load(LoadKind::Command, address, word);
        }
        (0..8).for_each(|entry| loaded.load(LoadKind::Entry, entry, 40 + u64::from(entry)));
        loaded.load(LoadKind::Segment, 2, 2 << 16 | 1);
        loaded.load(LoadKind::Layers, 2, 3 << 16 | 2);
        let run = |loaded: &mut Loaded| {
            let mut commands = loaded.commands(2, 0).expect("all fits");
            let row = commands.next().expect("a command").map(|command| command.row);
            assert!(commands.next().is_none() && commands.ends_layer());
            loaded.next_layer(2);
            row.map_err(|error| error.status)
        };
        assert_eq!([(); 4].map(|()| run(&mut loaded)), [42, 44, 46, 42].map(Ok));
        loaded.load(LoadKind::Segment, 2, 2 << 16 | 3);
        assert_eq!([(); 2].map(|()| run(&mut loaded)), [44, 46].map(Ok), "the first again");
        loaded.load(LoadKind::Layers, 2, 3 << 16 | 0xFFFF);
        assert_eq!(run(&mut loaded), Ok(44));
        assert_eq!(
            loaded.commands(2, 0).expect("all fits").next().map(|of| of.is_err()),
            Some(true)
        );
    }
}
