//! A door on loopback: accepts connections, gives each a thread, lets in only so many at once, and closes for good
//! when dropped.
//!
//! It knows nothing of HTTP; what is said on a connection is its user's affair, honest or not. Dropping it shuts every
//! socket, which ends whatever read or write a thread is waiting in, and then waits for the threads, though not for
//! ever.

use crate::limits::{CONNECTION_STACK_BYTES, CONNECTIONS_MAX, SHUTDOWN_WAIT_MAX};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Listener {
    addr: SocketAddr,
    room: Arc<Room>,
    door: Option<thread::JoinHandle<()>>,
}

impl Listener {
    /// Opens a door on a free port. `serve` is called once per connection, on a thread of its own.
    pub(crate) fn start(serve: impl Fn(&Guest) + Send + Sync + 'static) -> io::Result<Self> {
        Self::start_on((Ipv4Addr::LOCALHOST, 0).into(), serve)
    }

    /// The same, on an address of the caller's choice.
    pub(crate) fn start_on(addr: SocketAddr, serve: impl Fn(&Guest) + Send + Sync + 'static) -> io::Result<Self> {
        let socket = TcpListener::bind(addr)?;
        let addr = socket.local_addr()?;
        let room = Arc::new(Room::default());
        let (inside, serve) = (Arc::clone(&room), Arc::new(serve));
        let door = thread::Builder::new().name("testweb-door".to_owned()).spawn(move || {
            while inside.wait_for_space() {
                let Ok((stream, _)) = socket.accept() else {
                    // Out of descriptors, most likely: others have to leave first.
                    thread::sleep(Duration::from_millis(5));
                    continue;
                };
                let Some(guest) = Room::admit(&inside, stream) else { return };
                let serve = Arc::clone(&serve);
                // Without a thread for it the guest is dropped, and with it the connection.
                let _ = thread::Builder::new()
                    .name("testweb-guest".to_owned())
                    .stack_size(CONNECTION_STACK_BYTES)
                    .spawn(move || serve(&guest));
            }
        })?;
        Ok(Self { addr, room, door: Some(door) })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.room.close();
        let end = Instant::now() + SHUTDOWN_WAIT_MAX;
        if let Some(door) = self.door.take() {
            while !door.is_finished() && Instant::now() < end {
                // The door may be waiting for a knock.
                let _ = TcpStream::connect_timeout(&self.addr, Duration::from_millis(100));
                thread::sleep(Duration::from_millis(1));
            }
            if door.is_finished() {
                let _ = door.join();
            }
        }
        self.room.wait_until_empty(end);
    }
}

/// Who is inside.
#[derive(Debug, Default)]
struct Room {
    guests: Mutex<Guests>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Guests {
    streams: HashMap<u64, Arc<TcpStream>>,
    /// Those who wait between two requests, by since when. They may be asked to leave.
    idle: HashMap<u64, Instant>,
    /// Who was shown out and has not left yet: one at a time is enough.
    leaving: Option<u64>,
    admitted: u64,
    closing: bool,
}

/// One connection. Leaves the room when dropped, even by a panic.
#[derive(Debug)]
pub(crate) struct Guest {
    number: u64,
    stream: Arc<TcpStream>,
    room: Arc<Room>,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False once the room is closing. When it is full, the guest who has been idle longest is shown out, so that there
    /// is room before the next one knocks; as with any server, a request that is on its way at that moment is lost, and
    /// its sender sees the connection end.
    fn wait_for_space(&self) -> bool {
        let crowded = |guests: &mut Guests| {
            let full = guests.streams.len() >= CONNECTIONS_MAX && !guests.closing;
            let longest = guests.idle.iter().min_by_key(|(_, since)| **since).map(|(number, _)| *number);
            if let Some(number) = longest.filter(|_| full && guests.leaving.is_none()) {
                guests.leaving = Some(number);
                guests.idle.remove(&number);
                if let Some(stream) = guests.streams.get(&number) {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            full
        };
        !self.left.wait_while(self.lock(), crowded).unwrap_or_else(PoisonError::into_inner).closing
    }

    fn admit(room: &Arc<Self>, stream: TcpStream) -> Option<Guest> {
        let mut guests = room.lock();
        if guests.closing {
            return None;
        }
        guests.admitted += 1;
        let (number, stream) = (guests.admitted, Arc::new(stream));
        guests.streams.insert(number, Arc::clone(&stream));
        Some(Guest { number, stream, room: Arc::clone(room) })
    }

    fn close(&self) {
        let mut guests = self.lock();
        guests.closing = true;
        for stream in guests.streams.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.left.notify_all();
    }

    fn wait_until_empty(&self, end: Instant) {
        let wait = end.saturating_duration_since(Instant::now());
        let _ = self.left.wait_timeout_while(self.lock(), wait, |guests| !guests.streams.is_empty());
    }
}

impl Guest {
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Says whether the guest waits between requests, and may be shown out when others want in.
    pub(crate) fn set_idle(&self, idle: bool) {
        let mut guests = self.room.lock();
        if !idle {
            guests.idle.remove(&self.number);
            return;
        }
        guests.idle.insert(self.number, Instant::now());
        if guests.streams.len() >= CONNECTIONS_MAX {
            // The door waits for someone to leave, and did not know of this one.
            self.room.left.notify_all();
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut guests = self.room.lock();
        guests.streams.remove(&self.number);
        guests.idle.remove(&self.number);
        if guests.leaving == Some(self.number) {
            guests.leaving = None;
        }
        drop(guests);
        self.room.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};

    /// Idle guests here would stay for ever, so nothing but the door can make room.
    #[test]
    fn when_the_room_is_full_the_guest_idle_longest_has_to_leave() {
        let listener = Listener::start(|guest| {
            let _ = guest.stream().write_all(b"!");
            guest.set_idle(true);
            let _ = guest.stream().read(&mut [0]);
        })
        .unwrap();
        let visit = || {
            let mut stream = TcpStream::connect(listener.addr()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            stream.read_exact(&mut [0]).map(|()| stream)
        };
        let mut guests: Vec<TcpStream> = (0..CONNECTIONS_MAX + 20).map(|_| visit().unwrap()).collect();
        // Guests say that they are idle only after they have greeted us, and take a moment to leave.
        let settled =
            |guests: &Guests| (guests.streams.len(), guests.idle.len()) == (CONNECTIONS_MAX - 1, CONNECTIONS_MAX - 1);
        let end = Instant::now() + Duration::from_secs(10);
        while !settled(&listener.room.lock()) && Instant::now() < end {
            thread::yield_now();
        }
        let gone = |stream: &mut TcpStream| {
            stream.set_nonblocking(true).unwrap();
            !matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        };
        let gone: Vec<usize> = guests.iter_mut().enumerate().filter_map(|(n, s)| gone(s).then_some(n)).collect();
        assert_eq!(gone.len(), 21, "{gone:?}");
        assert!(gone.iter().all(|n| *n < 100), "none of the newcomers: {gone:?}");
    }
}
