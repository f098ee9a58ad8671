//! Tests of translated commands: bytes of both connections, without a network.

use super::*;

/// All streams of a command without a terminal.
const PIPES: Options = Options { stdin: true, stdout: true, stderr: true, tty: false };
/// All streams of a command with a terminal.
const TERMINAL: Options = Options { stdin: true, stdout: true, stderr: true, tty: true };

const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;

/// A command and its output.
struct Test {
    command: RemoteCommand,
    out: Outputs,
}

impl Test {
    /// Starts a command whose streams are not accepted yet.
    fn created(options: Options, version: Version) -> Self {
        let mut out = Outputs::default();
        let command = RemoteCommand::start(options, version, &mut out);
        Test { command, out }
    }

    /// Starts a command whose streams are accepted.
    fn started(options: Options) -> Self {
        let mut test = Test::created(options, Version::V4);
        for stream in (1..).step_by(2).take(test.command.streams.len()) {
            test.kubelet(&control(2, &[0, 0, 0, stream, 9, 9, 9, 9]));
        }
        test.out = Outputs::default();
        test
    }

    fn kubelet(&mut self, bytes: &[u8]) {
        self.command.translate_kubelet(&mut BytesMut::from(bytes), &mut self.out);
    }

    /// Sends a message of the client.
    fn client(&mut self, message: &[u8]) {
        let mut frame = vec![0x82, 0x80 | u8::try_from(message.len()).unwrap_or(0), 0, 0, 0, 0];
        frame.extend_from_slice(message);
        self.command.translate_client(&mut BytesMut::from(&*frame), &mut self.out);
    }

    fn ticks(&mut self, time: Duration) {
        for _ in 0..time.as_secs() / TICK.as_secs() {
            self.out = Outputs::default();
            self.command.on_tick(&mut self.out);
        }
    }

    /// Status that the client got with the end of the WebSocket.
    fn status(&self) -> String {
        let message = self.out.client.strip_suffix(b"\x88\x02\x03\xe8").unwrap_or_default();
        let at = message.windows(2).position(|window| window == b"\x03{");
        let status = at.and_then(|at| message.get(at + 1..)).unwrap_or_default();
        String::from_utf8_lossy(status).into_owned()
    }
}

fn control(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap_or(0);
    [&[0x80, 3, 0, kind, 0, 0, 0, length][..], payload].concat()
}

fn data(stream: u8, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap_or(0);
    [&[0, 0, 0, stream, flags, 0, 0, length][..], bytes].concat()
}

fn reset(stream: u8) -> Vec<u8> {
    control(3, &[0, 0, 0, stream, 0, 0, 0, 5])
}

fn ping(id: u8) -> Vec<u8> {
    control(6, &[0, 0, 0, id])
}

/// Last bytes for the kubelet: resets of these streams, and GOAWAY.
fn goodbye(streams: &[u8]) -> Vec<u8> {
    let resets = streams.iter().flat_map(|stream| reset(*stream));
    resets.chain(control(7, &[0; 8])).collect()
}

#[test]
fn streams_depend_on_options() {
    let check = |options: Options, version: Version, expected: &[&str]| {
        let test = Test::created(options, version);
        let types: Vec<&str> =
            test.command.streams.iter().map(|stream| stream.channel.stream_type()).collect();
        assert_eq!(types, expected);
        assert!(
            types.iter().all(|name| test.out.kubelet.windows(name.len()).any(|part| part == name.as_bytes()))
        );
    };
    check(PIPES, Version::V5, &["error", "stdin", "stdout", "stderr"]);
    check(TERMINAL, Version::V4, &["error", "stdin", "stdout", "resize"]);
    check(TERMINAL, Version::V2, &["error", "stdin", "stdout"]);
    check(Options::default(), Version::V4, &["error"]);
}

#[test]
fn first_message_is_empty() {
    assert_eq!(&*first_message(PIPES), b"\x82\x01\x01");
    assert_eq!(&*first_message(Options { stderr: true, ..Options::default() }), b"\x82\x01\x02");
    assert_eq!(&*first_message(Options::default()), b"\x82\x01\x03");
}

#[test]
fn input_waits_for_the_streams() {
    let mut test = Test::created(PIPES, Version::V4);
    let mut bytes = BytesMut::from(&b"\x82\x82\0\0\0\0\0a"[..]);
    test.command.translate_client(&mut bytes, &mut test.out);
    assert_eq!(bytes.len(), 8);
}

#[test]
fn stdin_becomes_data() {
    let mut test = Test::started(PIPES);
    test.client(b"\0ab");
    assert_eq!(&*test.out.kubelet, data(3, 0, b"ab"));
    // Empty messages, other channels and unknown ones are ignored.
    for message in [&b""[..], b"\0", b"\x01x", b"\x04{}", b"\x09x"] {
        test.client(message);
    }
    assert_eq!(&*test.out.kubelet, data(3, 0, b"ab"));
}

#[test]
fn close_signal_ends_stdin_once() {
    let mut test = Test::started(PIPES);
    test.client(b"\xff\0");
    test.client(b"\xff\0");
    test.client(b"\0late");
    assert_eq!(&*test.out.kubelet, data(3, 1, b""));
}

#[test]
fn invalid_close_signal_ends_connection() {
    for signal in [&b"\xff"[..], b"\xff\x05", b"\xff\0\0"] {
        let mut test = Test::started(PIPES);
        test.client(signal);
        assert_eq!(&*test.out.client, b"\x88\x02\x03\xe8", "{signal:?}");
        assert_eq!(&*test.out.kubelet, [data(3, 1, b""), goodbye(&[1, 5, 7])].concat());
    }
}

#[test]
fn output_becomes_messages() {
    let mut test = Test::started(PIPES);
    test.kubelet(&[data(5, 0, b"out"), data(7, 0, b"err"), data(5, 0, b""), data(99, 0, b"x")].concat());
    assert_eq!(&*test.out.client, b"\x82\x04\x01out\x82\x04\x02err");
}

#[test]
fn resize_becomes_json_line() {
    let mut test = Test::started(TERMINAL);
    test.client(b"\x04{\"Width\":80,\"Height\":24}");
    assert_eq!(&*test.out.kubelet, data(7, 0, b"{\"Width\":80,\"Height\":24}\n"));
}

#[test]
fn status_follows_the_output() {
    let mut test = Test::started(PIPES);
    let status = r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}"#;
    let error = [data(1, 0, status.as_bytes()), reset(1), reset(7)].concat();
    test.kubelet(&error);
    assert!(!test.command.has_ended());
    test.kubelet(&[data(5, 0, b"last"), reset(5), reset(3), control(7, &[0; 8])].concat());
    assert!(test.out.client.starts_with(b"\x82\x05\x01last"));
    assert_eq!(test.status(), serde_json::to_string(&Outcome::ExitCode(3).status()).unwrap_or_default());
    assert_eq!((&*test.out.kubelet, test.command.code()), (&*goodbye(&[]), 200));
}

#[test]
fn streams_can_end_with_data() {
    let mut test = Test::started(PIPES);
    let frames = [data(1, 1, SUCCESS.as_bytes()), data(5, 1, b"x"), data(7, 1, b"")].concat();
    test.kubelet(&frames);
    assert_eq!(test.status(), SUCCESS);
    assert_eq!(&*test.out.kubelet, goodbye(&[1, 3, 5, 7]));
}

#[test]
fn kubelet_ends_stdin() {
    let mut test = Test::started(PIPES);
    test.kubelet(&data(3, 1, b""));
    test.client(b"\0late");
    assert_eq!(&*test.out.kubelet, data(3, 1, b""));
}

#[test]
fn lost_kubelet_is_a_failure() {
    let check = |end: fn(&mut Test), expected: &str| {
        let mut test = Test::started(PIPES);
        end(&mut test);
        assert_eq!(
            test.status(),
            serde_json::to_string(&Outcome::Failure(expected.to_owned()).status()).unwrap_or_default()
        );
        assert_eq!(test.command.code(), 500);
    };
    check(|test| test.command.end_kubelet(&mut test.out), LOST);
    check(|test| test.kubelet(&control(7, &[0; 8])), LOST);
    check(|test| test.kubelet(&[reset(1), reset(5), reset(7)].concat()), LOST);
    check(|test| test.kubelet(&[0; 8]), "SPDY frame for stream 0");
}

#[test]
fn status_survives_a_lost_kubelet() {
    let mut test = Test::started(PIPES);
    test.kubelet(&data(1, 0, SUCCESS.as_bytes()));
    test.command.end_kubelet(&mut test.out);
    assert_eq!(test.status(), SUCCESS);
}

#[test]
fn rejected_stream_is_a_failure() {
    let mut test = Test::created(PIPES, Version::V4);
    test.kubelet(&reset(1));
    assert!(test.status().contains("Stream reset"), "{}", test.status());
}

#[test]
fn streams_must_be_accepted_in_time() {
    let mut test = Test::created(PIPES, Version::V4);
    test.ticks(CREATE_TIMEOUT - TICK);
    assert!(!test.command.has_ended());
    test.ticks(TICK);
    assert!(test.status().contains("Timeout occurred"), "{}", test.status());
}

#[test]
fn idle_command_ends() {
    let mut test = Test::started(PIPES);
    test.ticks(IDLE_TIMEOUT / 2);
    test.client(b"\0x");
    test.ticks(IDLE_TIMEOUT / 2);
    assert!(!test.command.has_ended());
    test.ticks(IDLE_TIMEOUT / 2);
    assert_eq!(&*test.out.client, b"\x88\x02\x03\xe8");
}

#[test]
fn error_stream_is_bounded() {
    let mut test = Test::started(PIPES);
    for _ in 0..=ERROR_BYTES_MAX / 250 {
        test.kubelet(&data(1, 0, &[b'x'; 250]));
    }
    assert!(test.status().contains("more than 1048576 bytes"), "{}", test.status());
}

#[test]
fn pings_are_answered() {
    let mut test = Test::started(PIPES);
    test.kubelet(&[ping(2), ping(1)].concat());
    assert_eq!(&*test.out.kubelet, ping(2));
    test.command.translate_client(&mut BytesMut::from(&b"\x89\x81\0\0\0\0x"[..]), &mut test.out);
    assert_eq!(&*test.out.client, b"\x8a\x01x");
}

#[test]
fn kubelet_is_pinged() {
    let mut test = Test::started(PIPES);
    for id in [1, 3] {
        test.ticks(TICK);
        assert_eq!(&*test.out.kubelet, ping(id));
    }
    // While the output is full, no further ping is added.
    test.command.on_tick(&mut test.out);
    assert_eq!(&*test.out.kubelet, ping(3));
}

#[test]
fn client_can_leave() {
    let mut test = Test::started(PIPES);
    test.command.translate_client(&mut BytesMut::from(&b"\x88\x80\0\0\0\0"[..]), &mut test.out);
    assert_eq!(&*test.out.client, b"\x88\x02\x03\xe8");
    assert_eq!(&*test.out.kubelet, [data(3, 1, b""), goodbye(&[1, 5, 7])].concat());
}

#[test]
fn streams_of_the_kubelet_are_refused() {
    let mut test = Test::started(PIPES);
    test.kubelet(&control(1, &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0]));
    assert_eq!(&*test.out.kubelet, control(3, &[0, 0, 0, 2, 0, 0, 0, 3]));
}

/// Numbers of a xorshift generator.
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 11).unwrap_or(0) % below
    }
}

/// Valid frames of the kubelet, from which the hostile ones are made.
fn kubelet_frames() -> Vec<Vec<u8>> {
    vec![
        control(2, &[0, 0, 0, 1, 9, 9]),
        control(2, &[0, 0, 0, 3]),
        control(1, &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0]),
        control(4, &[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 100]),
        control(8, &[0, 0, 0, 5]),
        control(9, &[0, 0, 0, 5, 0, 0, 0, 1]),
        data(5, 0, b"stdout"),
        data(7, 1, b"stderr"),
        data(1, 0, b"{\"status\":"),
        data(0x7f, 0, b"x"),
        reset(3),
        ping(2),
        control(7, &[0; 8]),
    ]
}

#[test]
fn hostile_kubelet_cannot_break_a_command() {
    for seed in 1..=2000 {
        let mut next = random(seed);
        let frames = kubelet_frames();
        let mut test =
            if seed % 2 == 0 { Test::started(PIPES) } else { Test::created(TERMINAL, Version::V3) };
        let mut input = BytesMut::new();
        for _ in 0..40 {
            let mut frame = frames.get(next(frames.len())).cloned().unwrap_or_default();
            if next(4) == 0 {
                let at = next(frame.len());
                if let Some(byte) = frame.get_mut(at) {
                    *byte = u8::try_from(next(256)).unwrap_or(0);
                }
            }
            frame.truncate(if next(8) == 0 { next(frame.len()) } else { frame.len() });
            input.extend_from_slice(&frame);
            test.out = Outputs::default();
            let before = input.len();
            test.command.translate_kubelet(&mut input, &mut test.out);
            let consumed = before - input.len();
            if test.command.has_ended() {
                // The end is announced to both sides.
                assert!(test.out.client.ends_with(b"\x88\x02\x03\xe8"), "{seed}");
                break;
            }
            assert!(input.len() < 16, "{seed}");
            assert!(test.out.client.len() + test.out.kubelet.len() <= 12 * consumed, "{seed}");
        }
    }
}

#[test]
fn hostile_client_cannot_break_a_command() {
    for seed in 1..=2000 {
        let mut next = random(seed);
        let mut test = Test::started(if seed % 2 == 0 { PIPES } else { TERMINAL });
        for _ in 0..40 {
            let opcode = [0x82, 0x81, 0x80, 0x02, 0x89, 0x8a, 0x83, 0x88].get(next(8)).copied().unwrap_or(0);
            let length = u8::try_from(next(12)).unwrap_or(0);
            let mut frame = vec![opcode, 0x80 | length, 1, 2, 3, 4];
            frame.extend((0..length).map(|_| u8::try_from(next(256)).unwrap_or(0)));
            test.out = Outputs::default();
            test.command.translate_client(&mut BytesMut::from(&*frame), &mut test.out);
            if test.command.has_ended() {
                break;
            }
            assert!(test.out.client.len() + test.out.kubelet.len() <= 12 * frame.len(), "{seed}");
        }
    }
}
