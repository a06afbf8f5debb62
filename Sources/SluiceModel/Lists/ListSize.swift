extension ListIdentity {
    /// The most bytes that the identity takes in a message.
    package var byteCount: Int {
        var size = PlaceSize()
        for run in runs {
            size.add(run.firstID)
            size.add(run.firstPlace)
            size.byteCount += DataSize.varint(UInt64(run.count)) + DataSize.zigzag(run.distance)
        }
        return size.byteCount
    }
}

extension ListEdits {
    /// What the edits take in messages, at the most.
    package var dataSize: DataSize {
        var size = PlaceSize()
        var whole = DataSize()
        for (id, place, value) in ordered {
            size.add(id)
            size.byteCount += 1
            if let place { size.add(place) }
            whole.elementCount += 2 + (place?.steps.count ?? 0)
            if let value { whole += value.dataSize }
        }
        whole.byteCount += size.byteCount
        whole.elementCount += size.originCount
        return whole
    }
}

extension ListIdentity.Run {
    /// The most bytes that a run takes, whatever was before it.
    static func byteCountMax(stepCount: Int) -> Int { 42 + 33 * stepCount }
}

/// Adds up the most bytes that ids and places take in the form in which they travel, where each refers to the one
/// before.
private struct PlaceSize {
    private var origins: Set<UInt64> = []
    private var last: [ElementPlace.Step] = []
    private var lastLow: UInt64 = 0
    private var lastTime: Int64 = 0
    var byteCount = 6
    /// How many origins are named before the ids and places that refer to them.
    var originCount: Int { origins.count }

    mutating func add(_ id: ObjectID) {
        add(id.high)
        byteCount += DataSize.zigzag(Int64(bitPattern: id.low &- lastLow))
        lastLow = id.low
    }

    private mutating func add(_ origin: UInt64) {
        if origins.insert(origin).inserted { byteCount += 8 }
        byteCount += 5
    }

    mutating func add(_ place: ElementPlace) {
        var shared = 0
        while shared < min(last.count, place.steps.count), last[shared] == place.steps[shared] { shared += 1 }
        byteCount += 4
        for step in place.steps[shared...] {
            add(step.origin)
            byteCount += DataSize.zigzag(step.number) + DataSize.zigzag(step.time &- lastTime)
            lastTime = step.time
        }
        last = place.steps
    }
}
