import Foundation
import SluiceBackend

@Model struct Flight {
    /// When it was to leave, its airline and its number.
    @PrimaryKey var id: String
    var day = ""
    var carrier = ""
    /// How late it left, in minutes; nil if it never did.
    var delay: Int?
}

/// What the report says of one day.
@Model struct Day {
    @PrimaryKey var date: String
    var flightCount = 0
    var lateCount = 0
    var cancelledCount = 0
}

/// The flights of a file of `scheduled,carrier,number,…,delay`.
struct FlightFile {
    let flights: [Flight]

    init(path: String) throws {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst()
        flights = lines.compactMap { line in
            let fields = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 7 else { return nil }
            return Flight(
                id: "\(fields[0]) \(fields[1]) \(fields[2])", day: String(fields[0].prefix(10)), carrier: fields[1],
                delay: Int(fields[6]))
        }
    }
}
