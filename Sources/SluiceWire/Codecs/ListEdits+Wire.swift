package import SluiceModel

extension ListEdits: WireCodable {
    private enum Kind {
        static let erased: UInt8 = 0
        static let inserted: UInt8 = 1
        static let moved: UInt8 = 2
        static let set: UInt8 = 3
        static let movedAndSet: UInt8 = 4
    }

    /// The origins, then for each element in the order of ids: the id, a byte for what is done, the place, the value.
    package func encode(into writer: inout ByteWriter) {
        var places = PlaceWriter()
        places.body.varint(count)
        for (id, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            places.add(id)
            switch outcome {
            case .erased: places.body.byte(Kind.erased)
            case .inserted(let place, let value):
                places.body.byte(Kind.inserted)
                places.add(place)
                value.encode(into: &places.body)
            case .changed(let place?, nil):
                places.body.byte(Kind.moved)
                places.add(place)
            case .changed(let place, let value):
                places.body.byte(place == nil ? Kind.set : Kind.movedAndSet)
                if let place { places.add(place) }
                (value ?? .null).encode(into: &places.body)
            }
        }
        places.finish(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        var places = try PlaceReader(from: &reader)
        let count = try reader.count(minimumSize: 3, weight: 2)
        var outcomes: [ObjectID: Outcome] = [:]
        outcomes.reserveCapacity(count)
        for _ in 0..<count {
            let id = try places.id(from: &reader)
            let outcome: Outcome
            switch try reader.byte() {
            case Kind.erased: outcome = .erased
            case Kind.inserted:
                outcome = .inserted(try places.place(from: &reader), try Value(from: &reader))
            case Kind.moved: outcome = .changed(try places.place(from: &reader), nil)
            case Kind.set: outcome = .changed(nil, try Value(from: &reader))
            case Kind.movedAndSet:
                outcome = .changed(try places.place(from: &reader), try Value(from: &reader))
            case let kind: throw reader.malformed("\(kind) is nothing that is done to an element")
            }
            guard outcomes.updateValue(outcome, forKey: id) == nil else {
                throw reader.malformed("two edits of one element")
            }
        }
        self.init(outcomes)
    }
}
