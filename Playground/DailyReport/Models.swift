import Foundation
import SluiceBackend

@Model struct Flight: Equatable {
    /// When it was to leave, its airline and its number.
    @PrimaryKey var id: String
    var day = ""
    var carrier = ""
    /// How late it left, in minutes; nil if it never did.
    var delay: Int?
}

/// What was counted of one flight, so that it can be taken out of its day when it changes.
@Model struct CountedFlight {
    @PrimaryKey var id: String
    var day = ""
    var isLate = false
    var isCancelled = false
}

extension CountedFlight {
    init(_ flight: Flight) {
        self.init(
            id: flight.id, day: flight.day, isLate: (flight.delay ?? 0) >= 60, isCancelled: flight.delay == nil)
    }
}

/// What the report says of one day.
@Model struct Day {
    @PrimaryKey var date: String
    var flightCount = 0
    var lateCount = 0
    var cancelledCount = 0
}

/// The flights of a file with the columns `scheduled`, `carrier`, `number` and `delay`, or with those that the flights of
/// nycflights13 have instead. A delay that is empty or NA is that of a flight which never left.
struct FlightFile {
    let flights: [Flight]

    struct Problem: Error, CustomStringConvertible { let description: String }

    init(path: String) throws {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(whereSeparator: \.isNewline)
        func fields(_ line: Substring) -> [String] {
            line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let names = lines.first.map { fields($0) } ?? []
        func column(_ choices: String...) throws -> Int {
            guard let column = choices.compactMap({ names.firstIndex(of: $0) }).first else {
                throw Problem(description: "\(path): no column '\(choices.joined(separator: "' or '"))'")
            }
            return column
        }
        let scheduled = try column("scheduled", "time_hour")
        let (carrier, number) = try (column("carrier"), column("number", "flight"))
        let delay = try column("delay", "dep_delay")
        flights = try lines.enumerated().dropFirst().map { index, line in
            let fields = fields(line)
            guard fields.count == names.count else {
                throw Problem(
                    description: "\(path): line \(index + 1) has \(fields.count) fields, and not \(names.count)")
            }
            return Flight(
                id: "\(fields[scheduled]) \(fields[carrier]) \(fields[number])",
                day: String(fields[scheduled].prefix(10)), carrier: fields[carrier], delay: Int(fields[delay]))
        }
    }
}
