internal import SluiceModel
internal import SluiceStorage

/// Computes what the unacknowledged operations on an object make of its server image.
///
/// For an object with a long backlog, it keeps the combined effect of the rest of the backlog from several points on,
/// like a queue that knows the sum of its elements. So each operation is read only a few times, however often the
/// server acknowledges a part or sends a new image.
final class PendingEffects {
    /// The rest of a backlog, from one changeset on.
    private struct Rest {
        /// The last changeset before `first` that changes the object; 0 if there is none.
        var previous: UInt64
        var first: UInt64
        /// The effect of the changesets from `first` to ``Backlog/end``.
        var effect: OperationEffect
    }

    private struct Backlog {
        /// The last acknowledgement that was asked for. Only later ones can be answered from here.
        var acknowledged: UInt64
        /// The rests, shortest first.
        var rests: [Rest]
        /// The last changeset that the rests include.
        var end: UInt64
        /// The effect of the changesets after `end`, up to `newestEnd`.
        var newest = OperationEffect()
        var newestEnd: UInt64
    }

    /// Consecutive operations on the object, with their combined effect.
    private struct Stretch {
        var previous: UInt64
        var first: UInt64
        var last: UInt64
        var effect: OperationEffect
    }

    /// The number of the object's changesets between two rests.
    private static let stretchCount = 256
    private static let objectCountMax = 1_000

    private let storage: SQLiteClientStorage
    private let changesetCountMin: Int
    private var backlogs: [ObjectRef: Backlog] = [:]
    /// How many operations were read. Tests use it to see how this work grows.
    private(set) var readCount = 0

    /// - Parameter changesetCountMin: the number of changesets on one object from which they are a long backlog.
    init(_ storage: SQLiteClientStorage, changesetCountMin: Int) {
        self.storage = storage
        self.changesetCountMin = changesetCountMin
    }

    /// Forgets everything: to be called when the outbox was rolled back, and when properties have other types.
    func removeAll() { backlogs = [:] }

    /// Applies the unacknowledged operations on an object to its server image; nil if they delete it.
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
        // Moved out and put back below, because with two owners each change would copy the backlog.
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

    /// Reads the pending operations, and keeps rests if there are many.
    private func read(_ object: ObjectRef, after acknowledged: UInt64) throws -> OperationEffect {
        backlogs[object] = nil
        let before = readCount
        let stretches = try stretches(of: object, after: acknowledged, before: .max, count: Self.stretchCount)
        guard readCount - before >= changesetCountMin else {
            return stretches.reduce(OperationEffect()) { $0.followed(by: $1.effect) }
        }
        let end = storage.lastSequence
        // The shortest rest is empty and begins after the end.
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

    /// The pending operations on an object between two changesets, in stretches of `count` changesets.
    private func stretches(
        of object: ObjectRef, after sequence: UInt64, before end: UInt64, count: Int
    ) throws -> [Stretch] {
        let declared = storage.schema[object.classIndex]
        var stretches: [Stretch] = []
        var changesetCount = 0
        try storage.forEachPendingOperation(of: object, after: sequence) { pending in
            guard pending.sequence < end else { return false }
            readCount += 1
            let effect = OperationEffect(pending.operation, of: declared)
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
