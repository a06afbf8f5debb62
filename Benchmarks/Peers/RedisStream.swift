import Foundation

/// Cars whose changes are entries of one stream in Redis: the car's number and its views.
struct RedisStream: PeerCars {
    /// How many entries an answer has at most.
    private static let entryCountMax = "1000"
    /// The car of the entry that ends all who follow.
    private static let lastCar = -1

    let port: UInt16
    let key = "cars-\(UUID().uuidString)"
    let carCount: Int

    func writer(tellsEach: Bool) throws -> any PeerWriter {
        try check(tellsEach, is: true, "whether each entry of a stream is read")
        return Writer(connection: try RespConnection(port: port), stream: self)
    }

    func observe(_ note: @escaping @Sendable (_ car: Int, _ views: Int) -> Void) throws -> PeerObserver {
        let reader = try Reader(self)
        return PeerObserver {
            while true {
                try reader.ask()
                for (car, views) in try reader.receive() {
                    if car == Self.lastCar { return }
                    note(car, views)
                }
            }
        }
    }

    /// A connection that appends.
    struct Writer: PeerWriter {
        let connection: RespConnection
        let stream: RedisStream

        func send(car: Int, views: Int) throws {
            try connection.send(["XADD", stream.key, "*", "car", String(car), "views", String(views)])
        }

        func write(_ numbers: StrideThrough<Int>, unansweredMax: Int) throws {
            var unanswered = 0
            for number in numbers {
                if unanswered == unansweredMax {
                    _ = try connection.receive()
                    unanswered -= 1
                }
                try send(car: number % stream.carCount, views: number)
                unanswered += 1
            }
            for _ in 0..<unanswered { _ = try connection.receive() }
        }

        /// Every entry is read anyway.
        func tellOfAll() {}

        func endObservers() throws {
            try send(car: RedisStream.lastCar, views: 0)
            _ = try connection.receive()
        }
    }

    /// A connection that waits for entries after the last that it has.
    final class Reader: @unchecked Sendable {
        // Sound because one thread at a time uses it.
        let connection: RespConnection
        private let key: String
        private var last = "0-0"

        init(_ stream: RedisStream) throws {
            connection = try RespConnection(port: stream.port)
            key = stream.key
        }

        /// Asks for the next entries, which come when there are some.
        func ask() throws {
            try connection.send(
                ["XREAD", "COUNT", RedisStream.entryCountMax, "BLOCK", "0", "STREAMS", key, last])
        }

        /// Waits for the entries that were asked for.
        func receive() throws -> [(car: Int, views: Int)] {
            // One stream: its key, and its entries, each an id with names and values in turn.
            let entries = try connection.receive().elements.first?.elements.last?.elements ?? []
            return try entries.map { entry in
                let fields = entry.elements.last?.elements ?? []
                guard let id = entry.elements.first?.string, fields.count == 4,
                    let car = fields[1].string.flatMap({ Int($0) }), let views = fields[3].string.flatMap({ Int($0) })
                else { throw BenchmarkError("Redis answers an entry of another form") }
                last = id
                return (car, views)
            }
        }
    }
}
