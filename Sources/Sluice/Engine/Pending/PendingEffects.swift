internal import SluiceModel
internal import SluiceStorage

/// What the operations that the server has not acknowledged make of the server's image of an object.
///
/// Of an object with a long backlog the effect of the rest of it is kept at some places (a queue that knows the sum of
/// what it holds), so that each operation is read a few times, however often the server acknowledges a part or sends a
/// new image.
final class PendingEffects {
    /// The rest of a backlog from one changeset on.
    private struct Rest {
        /// The changeset before `first` that touches the object; 0 if there is none.
        var previous: UInt64
        var first: UInt64
        /// What the changesets from `first` to ``Backlog/end`` do.
        var effect: OperationEffect
    }

    private struct Backlog {
        /// Later acknowledgements only are answered from here.
        var acknowledged: UInt64
        /// The rests, the shortest first.
        var rests: [Rest]
        /// The last changeset that the rests include.
        var end: UInt64
        /// What came after `end`, up to `newestEnd`.
        var newest = OperationEffect()
        var newestEnd: UInt64
    }

    /// Several operations of one changeset or of neighbouring ones.
    private struct Stretch {
        var previous: UInt64
        var first: UInt64
        var last: UInt64
        var effect: OperationEffect
    }

    /// Changesets of the object between two rests.
    private static let stretchCount = 256
    private static let objectCountMax = 1_000

    private let storage: any ClientStorage
    private let changesetCountMin: Int
    private var backlogs: [ObjectRef: Backlog] = [:]
    /// How many operations were read, for tests of how the work grows.
    private(set) var readCount = 0

    /// - Parameter changesetCountMin: how many changesets of an object make a long backlog.
    init(_ storage: any ClientStorage, changesetCountMin: Int) {
        self.storage = storage
        self.changesetCountMin = changesetCountMin
    }

    /// Forgets everything: to be called when the outbox was rolled back.
    func removeAll() { backlogs = [:] }

    /// The server's image of an object with the unacknowledged operations on it applied; nil if they delete it.
    ///
    /// - Parameter acknowledged: the last changeset that the image includes.
    func applied(to image: Row?, of object: ObjectRef, after acknowledged: UInt64) throws -> Row? {
        guard storage.outboxCount > 0 else { return image }
        let effect = try effect(on: object, after: acknowledged)
        return effect.applied(to: image, of: object, schema: storage.schema)
    }

    private func effect(on object: ObjectRef, after acknowledged: UInt64) throws -> OperationEffect {
        guard var backlog = backlogs[object], backlog.acknowledged <= acknowledged, acknowledged <= backlog.end else {
            return try read(object, after: acknowledged)
        }
        // It is put back below; two owners would make each change a copy of all.
        backlogs[object] = nil
        backlog.acknowledged = acknowledged
        while let rest = backlog.rests.last, rest.first <= acknowledged { backlog.rests.removeLast() }
        if let rest = backlog.rests.last, rest.previous > acknowledged {
            let stretches = try stretches(of: object, after: acknowledged, before: rest.first, count: 1)
            backlog.rests[backlog.rests.count - 1].previous = stretches.last?.last ?? 0
            Self.append(stretches, to: &backlog.rests, followedBy: rest.effect)
        }
        if backlog.newestEnd < storage.lastSequence {
            for stretch in try stretches(of: object, after: backlog.newestEnd, before: .max, count: .max) {
                backlog.newest = backlog.newest.followed(by: stretch.effect)
            }
            backlog.newestEnd = storage.lastSequence
        }
        backlogs[object] = backlog
        return (backlog.rests.last?.effect ?? OperationEffect()).followed(by: backlog.newest)
    }

    /// Reads what is pending, and keeps rests of it if that is much.
    private func read(_ object: ObjectRef, after acknowledged: UInt64) throws -> OperationEffect {
        backlogs[object] = nil
        let before = readCount
        let stretches = try stretches(of: object, after: acknowledged, before: .max, count: Self.stretchCount)
        guard readCount - before >= changesetCountMin else {
            return stretches.reduce(OperationEffect()) { $0.followed(by: $1.effect) }
        }
        let end = storage.lastSequence
        // The shortest rest is nothing, from behind the end on.
        var rests = [Rest(previous: stretches.last?.last ?? 0, first: end + 1, effect: OperationEffect())]
        Self.append(stretches, to: &rests, followedBy: OperationEffect())
        if backlogs.count >= Self.objectCountMax { removeAll() }
        backlogs[object] = Backlog(acknowledged: acknowledged, rests: rests, end: end, newestEnd: end)
        return rests.last?.effect ?? OperationEffect()
    }

    private static func append(
        _ stretches: [Stretch], to rests: inout [Rest], followedBy effect: OperationEffect
    ) {
        var effect = effect
        for stretch in stretches.reversed() {
            effect = stretch.effect.followed(by: effect)
            rests.append(Rest(previous: stretch.previous, first: stretch.first, effect: effect))
        }
    }

    /// The pending operations on an object between two changesets, by stretches of so many changesets.
    private func stretches(
        of object: ObjectRef, after sequence: UInt64, before end: UInt64, count: Int
    ) throws -> [Stretch] {
        var stretches: [Stretch] = []
        var changesetCount = 0
        try storage.forEachPendingOperation(of: object, after: sequence) { pending in
            guard pending.sequence < end else { return false }
            readCount += 1
            let effect = OperationEffect(pending.operation)
            if let last = stretches.last, last.last == pending.sequence || changesetCount < count {
                if last.last != pending.sequence { changesetCount += 1 }
                stretches[stretches.count - 1].effect = last.effect.followed(by: effect)
                stretches[stretches.count - 1].last = pending.sequence
            } else {
                stretches.append(
                    Stretch(
                        previous: stretches.last?.last ?? 0, first: pending.sequence, last: pending.sequence,
                        effect: effect))
                changesetCount = 1
            }
            return true
        }
        return stretches
    }
}
