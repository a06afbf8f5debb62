import Foundation
import TestSupport
import Testing

/// What queries count and compute, beside SQL that another program runs over the same file of real flights.
@Suite(.serialized)
struct FigureProgramTests {
    private static let flights = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Playground/DepartureBoard/Data/flights.csv").standardizedFileURL.path

    /// Reads the file into a table of Python's SQLite, and prints the rows of a statement as JSON lines.
    private static let program = """
        import csv, json, sqlite3, sys
        database = sqlite3.connect(":memory:")
        database.execute("CREATE TABLE Flight (scheduled, carrier, number INT, tailnum, origin, destination, delay INT)")
        with open(sys.argv[1], newline="") as file:
            rows = list(csv.reader(file))[1:]
        rows = [[None if value in ("", "NA") else value for value in row] for row in rows]
        database.executemany("INSERT INTO Flight VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        cursor = database.execute(sys.argv[2])
        for row in cursor:
            print(json.dumps(dict(zip([column[0] for column in cursor.description], row))))
        """

    /// Lines of JSON with their members in one order, and equal numbers written alike.
    private func objects(_ lines: [String]) throws -> [String] {
        try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return String(
                decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
        }
    }

    @Test func `another program computes the same figures and totals of the same rows`() async throws {
        guard let found = try await run("python3", ["-c", "import sqlite3"]), found.code == 0 else {
            return print("skipped: there is no python3 with sqlite3")
        }
        try await withServer { server in
            let loaded = try await ChildProcess(Tool.path, ["import", server.url(), "Flight", Self.flights]).finish()
            #expect(loaded.code == 0, "\(loaded.diagnostics)")
            for (query, statement) in [
                (
                    "Flight GROUP(carrier) AGGREGATE(@count, @sum.delay, @avg.delay, @min.delay, @max.delay)",
                    "SELECT carrier, COUNT(*) AS '@count', COALESCE(SUM(delay), 0) AS '@sum.delay', "
                        + "AVG(delay) AS '@avg.delay', MIN(delay) AS '@min.delay', MAX(delay) AS '@max.delay' "
                        + "FROM Flight GROUP BY carrier ORDER BY carrier"
                ),
                (
                    "Flight WHERE delay > 15 GROUP(origin, carrier) AGGREGATE(@count, @avg.delay) "
                        + "SORT(@count DESC) LIMIT(7)",
                    "SELECT origin, carrier, COUNT(*) AS '@count', AVG(delay) AS '@avg.delay' FROM Flight "
                        + "WHERE delay > 15 GROUP BY origin, carrier ORDER BY 3 DESC, origin, carrier LIMIT 7"
                ),
                (
                    "Flight WHERE origin == 'JFK' AND destination != 'LAX' AGGREGATE(@count, @max.scheduled)",
                    "SELECT COUNT(*) AS '@count', MAX(scheduled) AS '@max.scheduled' FROM Flight "
                        + "WHERE origin = 'JFK' AND destination <> 'LAX'"
                ),
                (
                    "Flight WHERE delay > 60 LIMIT(0) TOTAL",
                    "SELECT COUNT(*) AS '@total' FROM Flight WHERE delay > 60"
                ),
                (
                    "Flight WHERE delay == NULL LIMIT(0) TOTAL",
                    "SELECT COUNT(*) AS '@total' FROM Flight WHERE delay IS NULL"
                ),
            ] {
                let ours = try await ChildProcess(
                    Tool.path, ["query", server.url(), query, "--format=jsonl"]
                ).finish()
                let theirs = try #require(
                    try await run("python3", ["-c", Self.program, Self.flights, statement]))
                #expect(ours.code == 0 && theirs.code == 0, "\(query): \(ours.diagnostics) \(theirs.diagnostics)")
                #expect(try objects(ours.lines) == objects(theirs.lines), "\(query)")
                #expect(!theirs.lines.isEmpty)
            }
        }
    }
}
