/// Finds the subscriptions that may have an object among their members, without asking each of them.
///
/// Only the writer uses it. Members are filed by blocks of 64 rows, with a bit for each row, so that a page of rows that
/// came together takes a few entries, and the subscriptions of other pages are not looked at. Candidates are a superset:
/// callers check them with the bitmaps of ``Memberships``, which are the authority. So a member that is removed stays
/// filed until the commit, and a rollback only has to forget the planned removals.
struct MembershipIndex {
    private struct Block: Hashable {
        let classIndex: Int
        /// Of the rows, without their lower six bits.
        let number: Int64
    }

    /// Some rows of a block that a subscription may have.
    private struct Entry {
        let subscription: UInt64
        var rows: UInt64
    }

    private struct Departure: Hashable {
        let block: Block
        let subscription: UInt64
    }

    /// By ascending subscription; none is empty.
    private var entries: [Block: [Entry]] = [:]
    /// Where the open transaction has removed members.
    private var departures: Set<Departure> = []

    init(_ memberships: Memberships) {
        for (subscription, places) in memberships.bitmaps.all {
            for (place, bitmap) in places {
                bitmap.forEachWord { number, bits in
                    file(bits, in: Block(classIndex: place.classIndex, number: number), subscription)
                }
            }
        }
    }

    /// How many entries there are. Tests use it to see that none stays behind.
    var entryCount: Int { entries.values.reduce(0) { $0 + $1.count } }

    /// Files members, staged or not.
    mutating func insert(_ rows: some Sequence<Int64>, ofClass classIndex: Int, subscription: UInt64) {
        var block: Block?
        var bits: UInt64 = 0
        for row in rows {
            let next = Block(classIndex: classIndex, number: RowBitmap.word(of: row))
            if let block, block != next {
                file(bits, in: block, subscription)
                bits = 0
            }
            block = next
            bits |= RowBitmap.bit(of: row)
        }
        if let block { file(bits, in: block, subscription) }
    }

    private mutating func file(_ bits: UInt64, in block: Block, _ subscription: UInt64) {
        let (index, isFound) = Self.position(of: subscription, in: entries[block] ?? [])
        if isFound {
            entries[block]?[index].rows |= bits
        } else {
            entries[block, default: []].insert(Entry(subscription: subscription, rows: bits), at: index)
        }
    }

    /// Notes that a subscription may have lost a member; ``commit(_:)`` removes it from the index.
    mutating func noteDeparture(_ row: Int64, ofClass classIndex: Int, subscription: UInt64) {
        let block = Block(classIndex: classIndex, number: RowBitmap.word(of: row))
        departures.insert(Departure(block: block, subscription: subscription))
    }

    /// Notes that a subscription loses any of its members.
    ///
    /// - Parameter memberships: the memberships before that.
    mutating func noteDepartures(subscription: UInt64, _ memberships: Memberships) {
        for (place, bitmap) in memberships.bitmaps[subscription] ?? [:] {
            bitmap.forEachWord { number, _ in
                let block = Block(classIndex: place.classIndex, number: number)
                departures.insert(Departure(block: block, subscription: subscription))
            }
        }
    }

    /// Removes the members that a transaction has removed, once it is committed.
    ///
    /// - Parameter memberships: the memberships after the commit.
    mutating func commit(_ memberships: Memberships) {
        for departure in departures {
            let block = departure.block
            let (index, isFound) = Self.position(of: departure.subscription, in: entries[block] ?? [])
            guard isFound else { continue }
            let bits = memberships.word(
                block.number, ofClass: block.classIndex, subscription: departure.subscription)
            if bits != 0 {
                entries[block]?[index].rows = bits
            } else {
                entries[block]?.remove(at: index)
                if entries[block]?.isEmpty ?? false { entries[block] = nil }
            }
        }
        rollBack()
    }

    /// Forgets the removals of the open transaction.
    mutating func rollBack() { departures = [] }

    /// The subscriptions that may have a row as member or staged member, each once, by ascending id.
    func candidates(_ row: Int64, ofClass classIndex: Int) -> [UInt64] {
        guard let filed = entries[Block(classIndex: classIndex, number: RowBitmap.word(of: row))] else { return [] }
        let bit = RowBitmap.bit(of: row)
        return filed.compactMap { $0.rows & bit != 0 ? $0.subscription : nil }
    }

    /// Where a subscription is, or belongs. The one that was begun last is mostly the one that is asked for.
    private static func position(of subscription: UInt64, in entries: [Entry]) -> (index: Int, isFound: Bool) {
        guard let last = entries.last, last.subscription >= subscription else { return (entries.count, false) }
        if last.subscription == subscription { return (entries.count - 1, true) }
        var low = 0
        var high = entries.count - 1
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].subscription < subscription { low = middle + 1 } else { high = middle }
        }
        return (low, entries[low].subscription == subscription)
    }
}
