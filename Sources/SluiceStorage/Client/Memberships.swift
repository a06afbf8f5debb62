/// Holds which objects belong to which subscription, as bitmaps of local row ids. They are the authority while a store
/// is open.
struct Memberships: Sendable {
    /// Names one bitmap.
    struct Key: Hashable, Sendable {
        var subscription: UInt64
        /// Whether the bitmap is staged for a bootstrap that is not complete.
        var isStaged: Bool
        var classIndex: Int
        var role: MemberRole
    }

    /// Names one chunk of a bitmap; chunks are stored one by one.
    struct ChunkKey: Hashable, Sendable {
        var key: Key
        var base: Int64
    }

    /// By subscription, so that the bitmaps of one are found without looking at the others.
    private(set) var bitmaps = ShardedTable<UInt64, [Key: RowBitmap]>()
    /// The chunks that have changed since the last ``takeChanged()``.
    private var changed: Set<ChunkKey> = []

    func bitmap(_ key: Key) -> RowBitmap { bitmaps[key.subscription]?[key] ?? RowBitmap() }

    /// The bitmaps of a subscription, by class and role.
    func keys(of subscription: UInt64) -> [Key] {
        (bitmaps[subscription] ?? [:]).keys.sorted {
            ($0.classIndex, $0.role.rawValue) < ($1.classIndex, $1.role.rawValue)
        }
    }

    mutating func insert(_ row: Int64, at key: Key) -> Bool {
        let isNew = bitmaps.update(key.subscription, default: [:]) { $0[key, default: RowBitmap()].insert(row) }
        guard isNew else { return false }
        changed.insert(ChunkKey(key: key, base: RowChunk.base(of: row)))
        return true
    }

    /// Adds rows.
    ///
    /// - Returns: the positions of those that were not there, ascending.
    mutating func insert(_ rows: [Int64], at key: Key) -> [Int] {
        let added = bitmaps.update(key.subscription, default: [:]) { held in
            var bitmap = held.removeValue(forKey: key) ?? RowBitmap()
            defer { held[key] = bitmap }
            return rows.indices.filter { bitmap.insert(rows[$0]) }
        }
        noteChanges(added.lazy.map { rows[$0] }, at: key)
        return added
    }

    /// Removes rows.
    ///
    /// - Returns: those that were there.
    mutating func remove(_ rows: [Int64], at key: Key) -> [Int64] {
        guard bitmaps[key.subscription]?[key] != nil else { return [] }
        let removed = bitmaps.update(key.subscription, default: [:]) { held in
            var bitmap = held.removeValue(forKey: key) ?? RowBitmap()
            defer { held[key] = bitmap }
            return rows.filter { bitmap.remove($0) }
        }
        noteChanges(removed, at: key)
        return removed
    }

    private mutating func noteChanges(_ rows: some Sequence<Int64>, at key: Key) {
        var last: Int64?
        for row in rows {
            let base = RowChunk.base(of: row)
            if base == last { continue }
            last = base
            changed.insert(ChunkKey(key: key, base: base))
        }
    }

    mutating func remove(_ row: Int64, at key: Key) -> Bool {
        guard bitmaps[key.subscription]?[key] != nil,
            bitmaps.update(key.subscription, default: [:], { $0[key]?.remove(row) ?? false })
        else { return false }
        changed.insert(ChunkKey(key: key, base: RowChunk.base(of: row)))
        return true
    }

    /// Whether a subscription has a row as member or staged member, in any role.
    func holds(_ row: Int64, classIndex: Int, subscription: UInt64) -> Bool {
        guard let held = bitmaps[subscription] else { return false }
        return held.contains { key, bitmap in key.classIndex == classIndex && bitmap.contains(row) }
    }

    /// Whether a subscription has a row as member in a role; nil asks for either.
    func has(_ row: Int64, classIndex: Int, role: MemberRole?, subscription: UInt64) -> Bool {
        guard let held = bitmaps[subscription] else { return false }
        return (role.map { [$0] } ?? MemberRole.allCases).contains { role in
            let key = Key(subscription: subscription, isStaged: false, classIndex: classIndex, role: role)
            return held[key]?.contains(row) ?? false
        }
    }

    /// Which rows of a block of 64 (``RowBitmap/word(of:)``) a subscription has as members or staged members, in any role,
    /// with a bit for each.
    func word(_ number: Int64, ofClass classIndex: Int, subscription: UInt64) -> UInt64 {
        (bitmaps[subscription] ?? [:]).reduce(0) { bits, entry in
            entry.key.classIndex == classIndex ? bits | entry.value.word(number) : bits
        }
    }

    /// The rows of a class that a subscription has as members (or, with `isStaged`, as staged members) in any role; nil
    /// asks for both.
    func rows(ofClass classIndex: Int, subscription: UInt64, isStaged: Bool?) -> RowBitmap {
        var result = RowBitmap()
        for (key, bitmap) in bitmaps[subscription] ?? [:]
        where key.classIndex == classIndex && key.isStaged == isStaged ?? key.isStaged {
            result.formUnion(bitmap)
        }
        return result
    }

    /// Adds a chunk that was read from the database.
    mutating func load(_ chunk: RowChunk, at key: Key) {
        bitmaps.update(key.subscription, default: [:]) { held in
            var single = RowBitmap(chunks: [chunk])
            if let bitmap = held[key] { single.formUnion(bitmap) }
            held[key] = single
        }
    }

    /// Drops a subscription's bitmaps, or only the staged ones. The caller deletes the stored ones.
    mutating func drop(_ subscription: UInt64, onlyStaged: Bool) {
        bitmaps[subscription] = bitmaps[subscription]?.filter { onlyStaged && !$0.key.isStaged }
        if bitmaps[subscription]?.isEmpty ?? false { bitmaps[subscription] = nil }
        changed = changed.filter { $0.key.subscription != subscription || onlyStaged && !$0.key.isStaged }
    }

    /// Adds the staged rows of a subscription to its members, in the roles in which they are staged, and drops the staged
    /// bitmaps. The caller deletes the stored ones of these.
    ///
    /// - Returns: whether the members have changed.
    mutating func mergeStaged(_ subscription: UInt64) -> Bool {
        var isChanged = false
        for staged in keys(of: subscription) where staged.isStaged {
            var rows: [Int64] = []
            bitmap(staged).forEach { row in
                rows.append(row)
                return true
            }
            var key = staged
            key.isStaged = false
            if !insert(rows, at: key).isEmpty { isChanged = true }
            // An object has one role.
            key.role = staged.role == .root ? .linked : .root
            if !remove(rows, at: key).isEmpty { isChanged = true }
        }
        drop(subscription, onlyStaged: true)
        return isChanged
    }

    /// Replaces the bitmaps of a subscription by the staged ones. All changes must be stored before, and the caller
    /// does the same to what is stored.
    mutating func replaceByStaged(_ subscription: UInt64) {
        var replaced: [Key: RowBitmap] = [:]
        for (key, bitmap) in bitmaps[subscription] ?? [:] where key.isStaged {
            var key = key
            key.isStaged = false
            replaced[key] = bitmap
        }
        bitmaps[subscription] = replaced.isEmpty ? nil : replaced
    }

    /// Replaces the staged bitmaps of a subscription by copies of the others. All changes must be stored before, and
    /// the caller does the same to what is stored.
    mutating func copyToStaged(_ subscription: UInt64) {
        for (key, bitmap) in bitmaps[subscription] ?? [:] where !key.isStaged {
            var key = key
            key.isStaged = true
            bitmaps[subscription]?[key] = bitmap
        }
    }

    /// Returns the chunks that must be stored; the next call returns only later changes.
    mutating func takeChanged() -> Set<ChunkKey> {
        defer { changed = [] }
        return changed
    }
}
