internal import SluiceModel

/// The part of the outbox that is kept in memory, so that a changeset is not decoded again when it is sent and when it
/// is acknowledged, and so that what is pending is known without a query.
///
/// It holds consecutive changesets as far as its limit allows: oldest first, since they are acknowledged in that order.
package struct ResidentOutbox {
    /// As many operations as the largest transaction has.
    package static let operationCountMax = DataLimits.standard.operationCount

    private let operationCountMax: Int
    private var changesets: [Changeset] = []
    /// The changesets before this position have left the outbox.
    private var head = 0
    private var operationCount = 0
    /// Whether there was no room for the last changeset that was to be kept.
    private(set) var isFull = false
    /// How many of the operations of small changesets are on each object.
    private var operationCounts: [ObjectRef: Int] = [:]
    /// The objects of large changesets, which mostly ascend.
    private var large: [(sequence: UInt64, objects: ObjectPositions)] = []
    /// A changeset of as many operations is large.
    private static let largeCountMin = 64
    /// Each of them is looked at, so there must be few.
    private static let largeMax = 64

    init(operationCountMax: Int) { self.operationCountMax = operationCountMax }

    /// The first and the last changeset that are here; nil if none is.
    var range: ClosedRange<UInt64>? {
        guard head < changesets.count, let last = changesets.last else { return nil }
        return changesets[head].sequence...last.sequence
    }

    /// The changeset with a number; nil if it is not here. O(1).
    subscript(sequence: UInt64) -> Changeset? {
        guard let range, range.contains(sequence) else { return nil }
        return changesets[head + Int(sequence - range.lowerBound)]
    }

    /// Whether an operation on the object is here. O(1).
    func changes(_ object: ObjectRef) -> Bool {
        operationCounts[object] != nil || large.contains { $0.objects[object] != nil }
    }

    /// Whether no operation that is here is on an object in a range, as far as that shows without looking at the objects:
    /// false says nothing.
    func isOutside(_ objects: ClosedRange<ObjectRef>) -> Bool {
        operationCounts.isEmpty && large.allSatisfy { $0.objects.isOutside(objects) }
    }

    /// Keeps a changeset if it follows the others and the limit allows it.
    mutating func append(_ changeset: Changeset) {
        if let range, changeset.sequence != range.upperBound + 1 { return }
        isFull = operationCount + changeset.operationCount > operationCountMax
        guard !isFull else { return }
        changesets.append(changeset)
        operationCount += changeset.operationCount
        guard changeset.operationCount >= Self.largeCountMin, large.count < Self.largeMax else {
            for object in changeset.objects { operationCounts[object, default: 0] += 1 }
            return
        }
        var objects = ObjectPositions()
        for object in changeset.objects where objects[object] == nil { objects.append(object) }
        large.append((changeset.sequence, objects))
    }

    /// Drops the changesets up to and including a number. Amortised O(operations dropped).
    mutating func remove(through sequence: UInt64) {
        while head < changesets.count, changesets[head].sequence <= sequence {
            let removed = changesets[head]
            changesets[head].operations = []
            operationCount -= removed.operationCount
            isFull = false
            if large.first?.sequence == changesets[head].sequence {
                large.removeFirst()
            } else if operationCount > 0 {
                forget(removed.objects)
            }
            head += 1
        }
        if operationCount == 0 { operationCounts.removeAll(keepingCapacity: operationCounts.capacity <= 10_000) }
        guard head > changesets.count / 2 else { return }
        changesets.removeFirst(head)
        head = 0
    }

    private mutating func forget(_ objects: [ObjectRef]) {
        for object in objects {
            guard let index = operationCounts.index(forKey: object) else { continue }
            if operationCounts.values[index] == 1 {
                operationCounts.remove(at: index)
            } else {
                operationCounts.values[index] -= 1
            }
        }
    }

    /// Drops everything.
    mutating func removeAll() { self = ResidentOutbox(operationCountMax: operationCountMax) }
}
