/// Stores numbers under keys, and finds those of a key, in little memory: an entry has 32 bits of the key's hash in the
/// place of the key. So a search may also find the numbers of another key: among a million keys, one search in four
/// thousand does. That costs whoever judges what was found a look, and nothing else.
///
/// The entries are an open-addressing table with linear probing, in two arrays of 32 bits: 10 to 20 bytes a key. An
/// entry has one number or, if its top bit is set, the place of a set of numbers: of several, or of a large one.
package struct HashedNumbers<Key: Hashable> {
    private static var free: UInt32 { .max }
    private static var isSet: UInt32 { 1 << 31 }

    private var hashes: [UInt32] = []
    private var entries: [UInt32] = []
    /// How many entries are used.
    private var count = 0
    private var sets: [Set<UInt64>] = []
    private var freeSets: [Int] = []

    var isEmpty: Bool { count == 0 }

    package init() {}

    private static func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    /// The place of an entry, or the free place where it would be. The table must not be empty.
    private func place(of hash: UInt32) -> Int {
        let mask = entries.count - 1
        var place = Int(hash) & mask
        while entries[place] != Self.free, hashes[place] != hash { place = (place + 1) & mask }
        return place
    }

    private func entry(of key: Key) -> UInt32? {
        guard count > 0 else { return nil }
        let entry = entries[place(of: Self.hash(key))]
        return entry == Self.free ? nil : entry
    }

    /// How many numbers a search for a key finds.
    func count(of key: Key) -> Int {
        guard let entry = entry(of: key) else { return 0 }
        return entry & Self.isSet == 0 ? 1 : sets[Self.position(entry)].count
    }

    /// Calls `body` with the numbers of a key, and perhaps with those of another.
    package func forEach(of key: Key, _ body: (UInt64) -> Void) {
        if let entry = entry(of: key) { forEach(in: entry, body) }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for entry in entries where entry != Self.free { forEach(in: entry, body) }
    }

    private func forEach(in entry: UInt32, _ body: (UInt64) -> Void) {
        if entry & Self.isSet == 0 { body(UInt64(entry)) } else { sets[Self.position(entry)].forEach(body) }
    }

    private static func position(_ entry: UInt32) -> Int { Int(entry & ~isSet) }

    // MARK: Changing

    package mutating func insert(_ number: UInt64, for key: Key) {
        // Four fifths of the places are used at the most.
        if (count + 1) * 5 > entries.count * 4 { resize(to: max(8, entries.count * 2)) }
        let hash = Self.hash(key)
        let place = place(of: hash)
        let entry = entries[place]
        if entry == Self.free {
            hashes[place] = hash
            entries[place] = number < Self.isSet ? UInt32(number) : addSet([number])
            count += 1
        } else if entry & Self.isSet != 0 {
            sets[Self.position(entry)].insert(number)
        } else if UInt64(entry) != number {
            entries[place] = addSet([UInt64(entry), number])
        }
    }

    /// - Returns: the entry of the set.
    private mutating func addSet(_ numbers: Set<UInt64>) -> UInt32 {
        let position = freeSets.popLast() ?? sets.count
        if position == sets.count { sets.append([]) }
        sets[position] = numbers
        return UInt32(position) | Self.isSet
    }

    package mutating func remove(_ number: UInt64, for key: Key) {
        guard count > 0 else { return }
        let place = place(of: Self.hash(key))
        let entry = entries[place]
        guard entry != Self.free else { return }
        guard entry & Self.isSet != 0 else {
            if UInt64(entry) == number { vacate(place) }
            return
        }
        let position = Self.position(entry)
        sets[position].remove(number)
        guard sets[position].count <= 1 else { return }
        let rest = sets[position].first
        if let rest, rest >= Self.isSet { return }
        sets[position] = []
        freeSets.append(position)
        if let rest { entries[place] = UInt32(rest) } else { vacate(place) }
    }

    /// Frees a place, and moves back the entries behind it that would no longer be found.
    private mutating func vacate(_ vacated: Int) {
        let mask = entries.count - 1
        var hole = vacated
        var place = (hole + 1) & mask
        while entries[place] != Self.free {
            let distance = (place - Int(hashes[place]) & mask) & mask
            if distance >= (place - hole) & mask {
                (hashes[hole], entries[hole]) = (hashes[place], entries[place])
                hole = place
            }
            place = (place + 1) & mask
        }
        entries[hole] = Self.free
        count -= 1
        if count == 0 {
            self = HashedNumbers()
        } else if entries.count > 8, count * 5 < entries.count {
            resize(to: entries.count / 2)
        }
    }

    private mutating func resize(to size: Int) {
        let (oldHashes, oldEntries) = (hashes, entries)
        hashes = Array(repeating: 0, count: size)
        entries = Array(repeating: Self.free, count: size)
        for (hash, entry) in zip(oldHashes, oldEntries) where entry != Self.free {
            let place = place(of: hash)
            (hashes[place], entries[place]) = (hash, entry)
        }
    }
}
