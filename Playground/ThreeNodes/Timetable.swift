import Foundation

/// Reads real departures of 2013 from a CSV file with the columns scheduled, carrier, number, tailnum, origin,
/// destination and delay.
enum Timetable {
    /// The most departures that the demo writes.
    private static let countMax = 1_500

    static func departures(in path: String) throws -> [Departure] {
        var seen: Set<String> = []
        var departures: [Departure] = []
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst() {
            let cells = line.split(separator: ",", omittingEmptySubsequences: false)
            guard cells.count == 7 else { throw DemoError("\(path) has a line of other columns: \(line)") }
            let id = "\(cells[1])\(cells[2]) \(cells[0])"
            guard seen.insert(id).inserted else { continue }
            departures.append(
                Departure(
                    id: id, origin: String(cells[4]), destination: String(cells[5]), delay: Int(cells[6])))
            if departures.count == countMax { break }
        }
        return departures
    }
}
