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
    pub(crate) fn start(serve: impl Fn(&TcpStream) + Send + Sync + 'static) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
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
                    .spawn(move || serve(&guest.stream));
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
    admitted: u64,
    closing: bool,
}

/// One connection. Leaves the room when dropped, even by a panic.
#[derive(Debug)]
struct Guest {
    number: u64,
    stream: Arc<TcpStream>,
    room: Arc<Room>,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False once the room is closing.
    fn wait_for_space(&self) -> bool {
        let crowded = |guests: &mut Guests| guests.streams.len() >= CONNECTIONS_MAX && !guests.closing;
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

impl Drop for Guest {
    fn drop(&mut self) {
        self.room.lock().streams.remove(&self.number);
        self.room.left.notify_all();
    }
}
