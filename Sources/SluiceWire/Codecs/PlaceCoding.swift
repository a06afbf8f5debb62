internal import SluiceModel

/// Writes ids and places of list elements, each as what differs from the one before. Origins, which are random, are
/// written once, in front.
struct PlaceWriter {
    private var origins: [UInt64] = []
    private var numbers: [UInt64: Int] = [:]
    private var last: [ElementPlace.Step] = []
    private var lastLow: UInt64 = 0
    private var lastTime: Int64 = 0
    /// What else belongs between ids and places may be written here.
    var body = ByteWriter()

    /// The number of the elements of lists that were set as a whole, which have neither time nor origin.
    private static let whole = 0

    mutating func add(_ id: ObjectID) {
        body.varint(number(of: id.high))
        body.zigzag(Int64(bitPattern: id.low &- lastLow))
        lastLow = id.low
    }

    mutating func add(_ place: ElementPlace) {
        var shared = 0
        while shared < min(last.count, place.steps.count), last[shared] == place.steps[shared] { shared += 1 }
        body.varint(shared)
        body.varint(place.steps.count - shared)
        for step in place.steps[shared...] {
            body.zigzag(step.number)
            guard step.time != 0 || step.origin != 0 else {
                body.varint(Self.whole)
                continue
            }
            body.varint(number(of: step.origin))
            body.zigzag(step.time &- lastTime)
            lastTime = step.time
        }
        last = place.steps
    }

    private mutating func number(of origin: UInt64) -> Int {
        if let number = numbers[origin] { return number }
        origins.append(origin)
        numbers[origin] = origins.count
        return origins.count
    }

    /// Writes the origins, then what refers to them.
    func finish(into writer: inout ByteWriter) {
        writer.array(origins) { $0.fixed64($1) }
        writer.raw(body.bytes)
    }
}

/// Reads what ``PlaceWriter`` wrote.
struct PlaceReader {
    private let origins: [UInt64]
    private var last: [ElementPlace.Step] = []
    private var lastLow: UInt64 = 0
    private var lastTime: Int64 = 0

    init(from reader: inout ByteReader) throws(WireError) {
        origins = try reader.array(minimumSize: 8) { reader throws(WireError) in try reader.fixed64() }
    }

    mutating func id(from reader: inout ByteReader) throws(WireError) -> ObjectID {
        let high = try origin(try reader.position(), reader)
        lastLow = lastLow &+ UInt64(bitPattern: try reader.zigzag())
        return ObjectID(high: high, low: lastLow)
    }

    mutating func place(from reader: inout ByteReader) throws(WireError) -> ElementPlace {
        let shared = try reader.position()
        let count = try reader.position()
        guard shared <= last.count, shared + count <= ElementPlace.stepCountMax, shared + count > 0 else {
            throw reader.malformed("a place of \(shared) and \(count) steps")
        }
        // Those that are shared take room too.
        try reader.spend(elements: shared + count)
        last.removeSubrange(shared...)
        for _ in 0..<count {
            let number = try reader.zigzag()
            let code = try reader.position()
            guard code > 0 else {
                last.append(.init(number: number))
                continue
            }
            let origin = try origin(code, reader)
            lastTime = lastTime &+ (try reader.zigzag())
            last.append(.init(number: number, time: lastTime, origin: origin))
        }
        return ElementPlace(last)
    }

    private func origin(_ code: Int, _ reader: ByteReader) throws(WireError) -> UInt64 {
        guard code > 0, code <= origins.count else { throw reader.malformed("an origin \(code) of \(origins.count)") }
        return origins[code - 1]
    }
}
