import Foundation
import Sluice

/// A week of real departures from New York's airports, read from files beside this program.
struct Timetable {
    /// A flight, and how late it really left, in minutes; nil if it never did.
    struct Departure: Sendable {
        let flight: Flight
        let delay: Int?
    }

    let airlines: [Airline]
    let airports: [Airport]
    let planes: [Plane]
    let departures: [Departure]

    init() throws {
        airlines = try Self.rows("airlines").map { Airline(carrier: $0[0], name: $0[1]) }
        airports = try Self.rows("airports").map { Airport(faa: $0[0], name: $0[1]) }
        planes = try Self.rows("planes").map {
            Plane(tailnum: $0[0], manufacturer: $0[1], model: $0[2], seats: Int($0[3]) ?? 0)
        }
        let parser = ISO8601DateFormatter()
        departures = try Self.rows("flights").compactMap { row in
            guard let scheduled = parser.date(from: row[0]) else { return nil }
            let flight = Flight(
                scheduled: scheduled, number: Int(row[2]) ?? 0, airline: Link(key: row[1]),
                plane: row[3].isEmpty ? nil : Link(key: row[3]), origin: Link(key: row[4]),
                destination: Link(key: row[5]))
            return Departure(flight: flight, delay: Int(row[6]))
        }
    }

    /// The data lines of a file, split at commas outside quotes.
    private static func rows(_ name: String) throws -> [[String]] {
        guard let url = Bundle.module.url(forResource: name, withExtension: "csv", subdirectory: "Data") else {
            throw CocoaError(.fileNoSuchFile)
        }
        return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").dropFirst().map(fields)
    }

    private static func fields(_ line: Substring) -> [String] {
        var fields = [""]
        var isQuoted = false
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }
}
