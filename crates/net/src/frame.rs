//! What travels: a head of eight bytes (version, form, kind, zero, length), then a body. Calls, notices and stream heads carry
//! what their callers gave; our own frames carry postcard.
//!
//! Every form has a largest size, and a head that breaks a rule is refused before a byte of its body is waited for. Memory
//! follows what has come, not what was announced.

use crate::address::Kind;
use crate::error::Refusal;
use crate::identity::{Pass, Revocations, RingId};
use crate::limits;
use bytes::{Buf, Bytes, BytesMut};
use iroh::endpoint::{ReadError, RecvStream, SendStream, VarInt, WriteError};
use serde::{Deserialize, Serialize};

/// What kind of frame it is. Numbers are for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Hello = 1,
    Admit = 2,
    Pass = 3,
    Revocations = 4,
    /// A nonce, to be echoed from the address that was dialled.
    Prove = 5,
    Echo = 6,
    Refusal = 7,
    Call = 16,
    Answer = 17,
    Notice = 18,
    Stream = 19,
}

impl Form {
    const ALL: [Self; 11] = [
        Self::Hello,
        Self::Admit,
        Self::Pass,
        Self::Revocations,
        Self::Prove,
        Self::Echo,
        Self::Refusal,
        Self::Call,
        Self::Answer,
        Self::Notice,
        Self::Stream,
    ];

    fn bytes_max(self) -> usize {
        match self {
            Self::Hello | Self::Admit | Self::Pass | Self::Prove | Self::Echo => limits::HELLO_BYTES_MAX,
            Self::Revocations => limits::REVOCATIONS_BYTES_MAX,
            Self::Refusal => limits::REFUSAL_BYTES_MAX,
            Self::Call | Self::Answer => limits::CALL_BYTES_MAX,
            Self::Notice => limits::NOTICE_BYTES_MAX,
            Self::Stream => limits::STREAM_HEAD_BYTES_MAX,
        }
    }

    /// Whether the head may name a kind.
    fn has_kind(self) -> bool {
        matches!(self, Self::Call | Self::Notice | Self::Stream)
    }
}

/// The first thing that either side says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: u16,
    pub(crate) ring: RingId,
    /// None in an open ring.
    pub(crate) pass: Option<Pass>,
    /// Of the newest list of revocations that it has heard; 0 for none.
    pub(crate) revocations_serial: u64,
}

impl Hello {
    /// A hello of another version may look otherwise behind its first number, and is no garbage.
    pub(crate) fn version_of(body: &[u8]) -> Option<u16> {
        postcard::take_from_bytes(body).ok().map(|(version, _)| version)
    }
}

/// "Let me in": the secret of a ticket.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Admit {
    pub(crate) secret: [u8; 32],
}

/// A nonce or its echo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Nonce(pub(crate) [u8; 32]);

/// What our own frames carry.
pub(crate) trait Body: Serialize + for<'a> Deserialize<'a> {
    const FORM: Form;
}

macro_rules! bodies {
    ($($body:ty => $form:ident),*) => { $(impl Body for $body { const FORM: Form = Form::$form; })* };
}
bodies!(Hello => Hello, Admit => Admit, Pass => Pass, Revocations => Revocations, Nonce => Prove, Refusal => Refusal);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) form: Form,
    pub(crate) kind: Kind,
    pub(crate) bytes: usize,
}

impl Head {
    pub(crate) fn to_bytes(self) -> [u8; limits::HEAD_BYTES] {
        let mut out = [limits::FRAME_VERSION, self.form as u8, self.kind.0, 0, 0, 0, 0, 0];
        out[4..].copy_from_slice(&u32::try_from(self.bytes).unwrap_or(u32::MAX).to_be_bytes());
        out
    }

    pub(crate) fn parse(bytes: &[u8; limits::HEAD_BYTES]) -> Result<Self, Garbage> {
        let [version, form, kind, zero, a, b, c, d] = *bytes;
        if version != limits::FRAME_VERSION {
            return Err(Garbage(format!("a frame of version {version}")));
        }
        let Some(form) = Form::ALL.into_iter().find(|known| *known as u8 == form) else {
            return Err(Garbage(format!("a frame of form {form}")));
        };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > form.bytes_max() {
            return Err(Garbage(format!("a frame of form {form:?} with {length} bytes")));
        }
        if zero != 0 || (kind != 0 && !form.has_kind()) {
            return Err(Garbage("a head with something where nothing belongs".into()));
        }
        Ok(Self { form, kind: Kind(kind), bytes: length })
    }
}

/// What no honest peer sends, in words for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Garbage(pub(crate) String);

/// Why no frame came.
#[derive(Clone, Debug)]
pub(crate) enum FrameError {
    Garbage(Garbage),
    /// The stream was given up by the other side, or the connection broke.
    Lost(ReadError),
    /// The stream ended where a frame could have begun.
    Ended,
}

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) head: Head,
    pub(crate) body: Bytes,
}

impl Frame {
    pub(crate) fn decode<T: Body>(&self) -> Result<T, FrameError> {
        decode(&self.body).map_err(FrameError::Garbage)
    }

    /// A newer peer may refuse for reasons that we have no word for. It is still a refusal.
    pub(crate) fn refusal(&self) -> Refusal {
        let known = decode::<Refusal>(&self.body).map(Refusal::bounded);
        known.unwrap_or_else(|_| Refusal::service("it says no, for a reason that this program does not know"))
    }
}

pub(crate) fn decode<T: Body>(body: &[u8]) -> Result<T, Garbage> {
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Ok(value),
        _ => Err(Garbage(format!("a body that is no {:?}", T::FORM))),
    }
}

/// A whole frame of ours, as it is sent.
pub(crate) fn encode<T: Body>(body: &T) -> Result<Bytes, postcard::Error> {
    encode_as(T::FORM, body)
}

pub(crate) fn encode_as(form: Form, body: &impl Serialize) -> Result<Bytes, postcard::Error> {
    let mut out = postcard::to_extend(body, vec![0; limits::HEAD_BYTES])?;
    let head = Head { form, kind: Kind(0), bytes: out.len() - limits::HEAD_BYTES };
    out[..limits::HEAD_BYTES].copy_from_slice(&head.to_bytes());
    Ok(out.into())
}

/// The receiving half of a stream, with what has come and was not asked for yet.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) recv: RecvStream,
    pub(crate) ahead: Bytes,
}

impl Reader {
    pub(crate) fn new(recv: RecvStream) -> Self {
        Self { recv, ahead: Bytes::new() }
    }

    /// The next head, which must be one of these forms.
    pub(crate) async fn head(&mut self, forms: &[Form]) -> Result<Head, FrameError> {
        while self.ahead.len() < limits::HEAD_BYTES {
            match self.more(limits::HEAD_BYTES + limits::CALL_BYTES_MAX).await? {
                true => {}
                false if self.ahead.is_empty() => return Err(FrameError::Ended),
                false => return Err(cut_short()),
            }
        }
        let mut bytes = [0; limits::HEAD_BYTES];
        self.ahead.copy_to_slice(&mut bytes);
        let head = Head::parse(&bytes).map_err(FrameError::Garbage)?;
        if !forms.contains(&head.form) {
            return Err(FrameError::Garbage(Garbage(format!("a frame of form {:?} in the wrong place", head.form))));
        }
        Ok(head)
    }

    /// The body that a head announced.
    pub(crate) async fn body(&mut self, head: Head) -> Result<Bytes, FrameError> {
        if self.ahead.len() < head.bytes {
            // Room for what has come: an announcement alone costs nothing.
            let mut whole = BytesMut::from(&self.ahead[..]);
            self.ahead.clear();
            while whole.len() < head.bytes {
                match self.recv.read_chunk(head.bytes - whole.len()).await.map_err(FrameError::Lost)? {
                    Some(chunk) => whole.extend_from_slice(&chunk),
                    None => return Err(cut_short()),
                }
            }
            return Ok(whole.freeze());
        }
        Ok(self.ahead.split_to(head.bytes))
    }

    pub(crate) async fn frame(&mut self, forms: &[Form]) -> Result<Frame, FrameError> {
        let head = self.head(forms).await?;
        let body = self.body(head).await?;
        Ok(Frame { head, body })
    }

    /// That nothing comes after it.
    pub(crate) async fn end(&mut self) -> Result<(), FrameError> {
        if !self.ahead.is_empty() || self.more(1).await? {
            return Err(FrameError::Garbage(Garbage("bytes behind a frame".into())));
        }
        Ok(())
    }

    async fn more(&mut self, bytes_max: usize) -> Result<bool, FrameError> {
        let Some(chunk) = self.recv.read_chunk(bytes_max).await.map_err(FrameError::Lost)? else { return Ok(false) };
        if self.ahead.is_empty() {
            self.ahead = chunk;
        } else {
            let mut both = BytesMut::from(&self.ahead[..]);
            both.extend_from_slice(&chunk);
            self.ahead = both.freeze();
        }
        Ok(true)
    }
}

fn cut_short() -> FrameError {
    FrameError::Garbage(Garbage("half a frame".into()))
}

/// The sending half. Whoever stops half-way (a caller whose time is up) resets the stream, so that the other side does not take
/// half a frame for a whole one that was cut.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) send: SendStream,
    is_done: bool,
}

impl Writer {
    pub(crate) fn new(send: SendStream) -> Self {
        Self { send, is_done: false }
    }

    pub(crate) async fn frame(&mut self, form: Form, kind: Kind, body: Bytes) -> Result<(), WriteError> {
        let head = Head { form, kind, bytes: body.len() }.to_bytes();
        if body.len() <= limits::HELD_FREE_BYTES {
            // One piece is one packet and one lock; a copy of a small body costs less.
            let mut both = BytesMut::with_capacity(limits::HEAD_BYTES + body.len());
            both.extend_from_slice(&head);
            both.extend_from_slice(&body);
            return self.send.write_chunk(both.freeze()).await;
        }
        self.send.write_all_chunks(&mut [Bytes::copy_from_slice(&head), body]).await
    }

    /// A frame that is already whole.
    pub(crate) async fn whole(&mut self, frame: Bytes) -> Result<(), WriteError> {
        self.send.write_chunk(frame).await
    }

    pub(crate) fn finish(&mut self) {
        self.is_done = true;
        // It fails only where the stream is over already.
        let _ = self.send.finish();
    }

    /// Waits until all of it was taken, or until nobody will.
    pub(crate) async fn delivered(&mut self) {
        let _ = self.send.stopped().await;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = self.send.reset(VarInt::from_u32(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_comes_back_and_each_form_has_its_bound() {
        for form in Form::ALL {
            let kind = Kind(if form.has_kind() { 9 } else { 0 });
            let head = Head { form, kind, bytes: form.bytes_max() };
            assert_eq!(Head::parse(&head.to_bytes()), Ok(head));
            let over = Head { bytes: form.bytes_max() + 1, ..head };
            assert!(Head::parse(&over.to_bytes()).is_err(), "{form:?}");
        }
        assert!(Head::parse(&[2, 16, 0, 0, 0, 0, 0, 1]).is_err());
        assert!(Head::parse(&[1, 16, 0, 1, 0, 0, 0, 1]).is_err());
        assert!(Head::parse(&[1, 1, 1, 0, 0, 0, 0, 1]).is_err());
        assert!(Head::parse(&[1, 99, 0, 0, 0, 0, 0, 1]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_decoder_panic(head: [u8; 8], body in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(parsed) = Head::parse(&head) {
                prop_assert_eq!(parsed.to_bytes(), head);
            }
            let _ = decode::<Hello>(&body);
            let _ = decode::<Admit>(&body);
            let _ = decode::<Pass>(&body);
            let _ = decode::<Revocations>(&body);
            let _ = decode::<Nonce>(&body);
            let _ = decode::<Refusal>(&body);
        }
    }
}
