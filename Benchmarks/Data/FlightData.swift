import Foundation
import Sluice
import SluiceModel

/// Makes flights from a real week of departures, which is repeated until there are enough.
struct FlightData {
    static let models: [any Model.Type] = [Flight.self, Airline.self, Airport.self, Plane.self]

    let airlines: [Airline]
    let airports: [Airport]
    let planes: [Plane]
    private let week: [Departure]

    private struct Departure {
        let scheduled: Timestamp
        let carrier: String
        let number: Int
        let tailnum: String
        let origin: String
        let destination: String
        let delay: Int?
    }

    init() throws {
        airlines = try Self.rows("airlines").map { Airline(carrier: $0[0], name: $0[1]) }
        airports = try Self.rows("airports").map { Airport(faa: $0[0], name: $0[1]) }
        planes = try Self.rows("planes").map {
            Plane(tailnum: $0[0], manufacturer: $0[1], type: $0[2], seats: Int($0[3]) ?? 0)
        }
        week = try Self.rows("flights").map { row in
            guard let scheduled = Timestamp(iso8601: row[0]) else {
                throw BenchmarkError("flights.csv: '\(row[0])' is not a date")
            }
            return Departure(
                scheduled: scheduled, carrier: row[1], number: Int(row[2]) ?? 0, tailnum: row[3], origin: row[4],
                destination: row[5], delay: Int(row[6]))
        }
    }

    /// The first flights of the repeated timetable.
    func flights(_ count: Int) -> [Flight] { (0..<count).map { flight($0) } }

    private func flight(_ position: Int) -> Flight {
        let departure = week[position % week.count]
        let microseconds = departure.scheduled.microseconds + Int64(position / week.count) * 7 * 86_400_000_000
        let days = microseconds / 86_400_000_000
        let minutes = Int(microseconds / 60_000_000 % 1440)
        let (year, month, day) = CivilDate.components(daysSince1970: days)
        let mixed = Mixer.mix(departure.number)
        let airTime = 40 + Int(mixed % 300)
        let arrival = (minutes + airTime + 30) % 1440
        let drift = Int(Mixer.mix(position) % 40) - 20
        return Flight(
            year: Int(year), month: Int(month), day: Int(day),
            departureTime: departure.delay.map { Self.clock(minutes + $0) },
            scheduledDepartureTime: Self.clock(minutes),
            departureDelay: departure.delay, arrivalTime: departure.delay.map { Self.clock(arrival + $0 + drift) },
            scheduledArrivalTime: Self.clock(arrival), arrivalDelay: departure.delay.map { $0 + drift },
            airline: Link(key: departure.carrier), number: departure.number,
            plane: departure.tailnum.isEmpty ? .none : .some(Link(key: departure.tailnum)),
            origin: Link(key: departure.origin),
            destination: Link(key: departure.destination), airTime: departure.delay.map { _ in airTime + drift },
            distance: Double(airTime * 7), hour: minutes / 60, minute: minutes % 60,
            scheduled: Timestamp(microseconds: microseconds).date)
    }

    /// A minute of the day as tables of flights write it: 17:05 is 1705.
    private static func clock(_ minutes: Int) -> Int {
        let minutes = (minutes % 1440 + 1440) % 1440
        return minutes / 60 * 100 + minutes % 60
    }

    /// The data lines of a file of the departure board, split at commas outside quotes.
    private static func rows(_ name: String) throws -> [[String]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let url = root.appending(path: "Playground/DepartureBoard/Data/\(name).csv")
        return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").dropFirst().map(fields)
    }

    private static func fields(_ line: Substring) -> [String] {
        var fields: [[UInt8]] = [[]]
        var isQuoted = false
        for byte in line.utf8 {
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: fields.append([])
            default: fields[fields.count - 1].append(byte)
            }
        }
        return fields.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension Workbench {
    /// Writes flights, and everything that they may link to, to a database.
    func upload(_ flights: [Flight], with data: FlightData, to url: String) async throws {
        let source = try await openStore("source", models: FlightData.models, url: url)
        try await source.insert(data.airlines)
        try await source.insert(data.airports)
        try await source.insert(data.planes)
        try await source.insert(flights)
        await source.close()
    }
}
