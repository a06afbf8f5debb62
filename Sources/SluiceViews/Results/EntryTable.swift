import SluiceModel

/// Finds the entry of an object. It holds nothing but references, 11 to 21 bytes for each entry, since an entry knows its
/// object.
///
/// A hash table with linear probing. When an entry is removed, those behind it that it was in the way of move up (Knuth,
/// The Art of Computer Programming, volume 3, section 6.4, algorithm R), so nothing marks where entries have been.
struct EntryTable: Sendable {
    /// As many as a power of two; at most three quarters of them have an entry.
    private var slots: [ResultEntry?] = []
    private(set) var count = 0
    /// What the table takes beside the entries, in bytes.
    var byteCount: Int { slots.count * MemoryLayout<ResultEntry?>.stride }

    /// The entry of an object; nil if there is none. O(1) on average.
    subscript(object: ObjectRef) -> ResultEntry? {
        get { slots.isEmpty ? nil : slots[place(of: object)] }
        set {
            if let newValue { insert(newValue) } else { remove(object) }
        }
    }

    mutating func reserveCapacity(_ capacity: Int) {
        var size = Swift.max(slots.count, 16)
        while capacity * 4 > size * 3 { size *= 2 }
        guard size > slots.count else { return }
        let old = slots
        slots = [ResultEntry?](repeating: nil, count: size)
        for case let entry? in old { slots[place(of: entry.object)] = entry }
    }

    private mutating func insert(_ entry: ResultEntry) {
        reserveCapacity(count + 1)
        let place = place(of: entry.object)
        if slots[place] == nil { count += 1 }
        slots[place] = entry
    }

    private mutating func remove(_ object: ObjectRef) {
        guard !slots.isEmpty else { return }
        var hole = place(of: object)
        guard slots[hole] != nil else { return }
        count -= 1
        slots[hole] = nil
        var next = hole
        while true {
            next = (next + 1) & mask
            guard let entry = slots[next] else { return }
            // It stays if it is found from where the search for it begins without coming by the hole.
            let home = home(of: entry.object)
            guard (next - home) & mask >= (next - hole) & mask else { continue }
            slots[hole] = entry
            slots[next] = nil
            hole = next
        }
    }

    private var mask: Int { slots.count - 1 }

    private func home(of object: ObjectRef) -> Int { object.hashValue & mask }

    /// Where an object's entry is or, if there is none, would be.
    private func place(of object: ObjectRef) -> Int {
        var place = home(of: object)
        while let entry = slots[place], entry.object != object { place = (place + 1) & mask }
        return place
    }
}
