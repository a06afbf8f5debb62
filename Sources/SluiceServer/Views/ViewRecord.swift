internal import SluiceModel

/// What a view has cost, and the digest of its content. There may be a million views, most of which have cost little
/// and have no digest made: these take 17 bytes for it, and the others an object.
///
/// It belongs to one view and is not copied.
struct ViewRecord {
    private enum Storage {
        case small(SmallCost)
        case large(LargeRecord)
    }

    private final class LargeRecord {
        var cost: ViewCost
        var digest: ObjectID??

        init(_ cost: ViewCost, _ digest: ObjectID?? = nil) {
            self.cost = cost
            self.digest = digest
        }
    }

    private var storage = Storage.small(SmallCost())

    var cost: ViewCost {
        get {
            switch storage {
            case .small(let small): small.cost
            case .large(let record): record.cost
            }
        }
        set {
            switch storage {
            case .small: storage = SmallCost(newValue).map { .small($0) } ?? .large(LargeRecord(newValue))
            case .large(let record): record.cost = newValue
            }
        }
    }

    /// See ``SharedView/digest``.
    var digest: ObjectID?? {
        get { if case .large(let record) = storage { record.digest } else { nil } }
        set {
            switch storage {
            case .small(let small): if newValue != nil { storage = .large(LargeRecord(small.cost, newValue)) }
            case .large(let record):
                record.digest = newValue
                if newValue == nil, let small = SmallCost(record.cost) { storage = .small(small) }
            }
        }
    }
}

/// A cost whose numbers are small, in 16 bytes.
private struct SmallCost {
    private var applyingTime: UInt32 = 0
    private var sentByteCount: UInt32 = 0
    private var bootstrapTime: UInt32 = 0
    private var foundCount: UInt16 = 0
    private var bootstrapCount: UInt8 = 0
    private var sentPageCount: UInt8 = 0

    init() {}

    /// - Returns: nil if a number is too large.
    init?(_ cost: ViewCost) {
        guard let applyingTime = UInt32(exactly: cost.applyingTime),
            let sentByteCount = UInt32(exactly: cost.sentByteCount),
            let bootstrapTime = UInt32(exactly: cost.bootstrapTime),
            let foundCount = UInt16(exactly: cost.foundCount),
            let bootstrapCount = UInt8(exactly: cost.bootstrapCount),
            let sentPageCount = UInt8(exactly: cost.sentPageCount)
        else { return nil }
        self.applyingTime = applyingTime
        self.sentByteCount = sentByteCount
        self.bootstrapTime = bootstrapTime
        self.foundCount = foundCount
        self.bootstrapCount = bootstrapCount
        self.sentPageCount = sentPageCount
    }

    var cost: ViewCost {
        ViewCost(
            foundCount: UInt64(foundCount), applyingTime: UInt64(applyingTime), sentByteCount: UInt64(sentByteCount),
            bootstrapCount: UInt64(bootstrapCount), bootstrapTime: UInt64(bootstrapTime),
            sentPageCount: UInt64(sentPageCount))
    }
}
