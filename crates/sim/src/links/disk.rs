//! A table on a disk that can lose power: what was not synced is then gone, from some write on.

use herodotus_frontier::Table;
use std::collections::BTreeMap;
use std::io;

/// A key, and its value or its end.
type Change = (Vec<u8>, Option<Vec<u8>>);

#[derive(Clone, Debug, Default)]
pub struct Disk {
    map: BTreeMap<Vec<u8>, Vec<u8>>,
    /// For each write since the last sync, what was there before.
    tail: Vec<Vec<Change>>,
}

impl Disk {
    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Writes that a loss of power could undo.
    pub fn unsynced(&self) -> usize {
        self.tail.len()
    }

    /// Power is lost: of the writes since the last sync the first few are there, and no others.
    pub fn lose_power(&mut self, kept: usize) {
        while self.tail.len() > kept {
            for (key, value) in self.tail.pop().into_iter().flatten().rev() {
                self.put(key, value);
            }
        }
        self.tail.clear();
    }

    pub fn values(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.map.iter().map(|(key, value)| (&key[..], &value[..]))
    }

    fn put(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match value {
            Some(value) => self.map.insert(key, value),
            None => self.map.remove(&key),
        }
    }
}

impl Table for Disk {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(self.map.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        if from >= to {
            return Ok(Vec::new());
        }
        let range = self.map.range(from.to_vec()..to.to_vec());
        Ok(range.take(limit).map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn write(&mut self, changes: Vec<Change>) -> io::Result<()> {
        let mut undo = Vec::with_capacity(changes.len());
        for (key, value) in changes {
            let before = self.put(key.clone(), value);
            undo.push((key, before));
        }
        self.tail.push(undo);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.tail.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_power_the_last_writes_are_undone_and_no_others() {
        let mut disk = Disk::default();
        let put = |key: &str, value: &str| (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec()));
        disk.write(vec![put("a", "1")]).expect("memory");
        disk.sync().expect("memory");
        disk.write(vec![put("a", "2"), put("b", "2")]).expect("memory");
        disk.write(vec![(b"a".to_vec(), None), put("a", "3"), put("c", "3")]).expect("memory");
        let mut half = disk.clone();
        half.lose_power(1);
        assert_eq!(half.values().map(|(_, value)| value[0]).collect::<Vec<_>>(), b"22");
        disk.lose_power(0);
        assert_eq!(disk.values().collect::<Vec<_>>(), [(&b"a"[..], &b"1"[..])]);
    }
}
