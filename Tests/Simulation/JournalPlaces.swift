import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage

/// What holds at each place of the journal that several nodes share, read from the bytes of its groups: rules are a
/// record of the journal, so a node that lags has those of its place.
final class JournalPlaces {
    /// What holds after a group.
    private struct Place {
        let previous: JournalHead?
        let version: UInt64
        let rules: SimulatedRules?
    }

    /// What held for a transaction when it was taken.
    struct Authority {
        let rules: SimulatedRules?
        /// Who might have written it: whoever had a session since the group before it.
        let identities: Set<SimulatedIdentity>
    }

    private var places: [JournalHead: Place] = [:]
    private let start: JournalHead
    /// The rules that nodes were to store, by the bytes that the journal has of them.
    private var rules: [[UInt8]: SimulatedRules] = [:]
    /// The transactions of the present history, and of those before it what it has not overtaken, by their versions.
    private var authorities: [UInt64: Authority] = [:]
    /// The last place of the present history that was seen.
    private(set) var last: JournalHead

    init(of storage: SQLiteServerStorage) {
        start = storage.head
        last = storage.head
        places[start] = Place(previous: nil, version: storage.version, rules: nil)
    }

    /// Notes rules before a node stores them: the journal may have them although the node does not learn that.
    func announce(_ rules: SimulatedRules) throws { self.rules[try RulesFile(rules.text).canonicalBytes] = rules }

    /// Notes the groups that the journal has had since the last time.
    ///
    /// - Parameter identities: of those who have, or had, a session since then.
    /// - Returns: whether there are any.
    @discardableResult
    func note(_ records: [JournalRecord], by identities: Set<SimulatedIdentity>) throws -> Bool {
        var index = records.count
        while index > 0, places[records[index - 1].head] == nil { index -= 1 }
        var head = index > 0 ? records[index - 1].head : start
        last = records.last?.head ?? last
        guard index < records.count else { return false }
        for record in records[index...] {
            guard let before = places[head], record.head.position == head.position + 1 else {
                throw SimulationFailure("group \(record.head.position) of the journal follows one that is not known")
            }
            let group = try JournalGroup.decode(record.bytes)
            var latest = before.rules
            var version = group.baseVersion
            for step in group.steps {
                switch step {
                case .rules(let bytes, _):
                    guard let known = rules[bytes] else {
                        throw SimulationFailure("group \(record.head.position) has rules that nobody has stored")
                    }
                    latest = known
                case .transaction:
                    version += 1
                    authorities[version] = Authority(rules: before.rules, identities: identities)
                default: break
                }
            }
            places[record.head] = Place(previous: head, version: version, rules: latest)
            head = record.head
        }
        return true
    }

    /// What held for the transaction of the present history that made a version; nil if that is not known.
    func authority(of version: UInt64) -> Authority? { authorities[version] }

    /// The rules that hold at a place.
    func rules(at head: JournalHead) -> SimulatedRules? { places[head]?.rules }

    /// What a node has had on its way from one place to another, in order, with both.
    ///
    /// - Parameter epoch: the one in which the node stands.
    func stands(from first: JournalHead, to last: JournalHead, inEpoch epoch: UInt64) throws -> [AccessStand] {
        var stands: [AccessStand] = []
        var next: JournalHead? = last
        while let head = next, let place = places[head] {
            stands.append(AccessStand(version: place.version, epoch: epoch, rules: place.rules))
            if head == first { return stands.reversed() }
            next = place.previous
        }
        throw SimulationFailure(
            "a node came from group \(first.position) to \(last.position), which does not follow it")
    }
}

/// A state that a node has had, and the rules that the node then had.
struct AccessStand {
    let version: UInt64
    let epoch: UInt64
    let rules: SimulatedRules?
}
