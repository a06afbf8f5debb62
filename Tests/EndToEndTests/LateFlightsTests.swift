import Foundation
import TestSupport
import Testing

/// Runs the example of a backend in the server's process as a process.
@Suite(.timeLimit(.minutes(10))) struct LateFlightsTests {
    private let path = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().appendingPathComponent("LateFlights")
        .path

    @Test func theBackendRaisesAnAlertAndTheProgramEnds() async throws {
        let exit = try await ChildProcess(path, []).finish()
        #expect(exit.code == 0, "\(exit.diagnostics)")
        // On a busy machine the alert is there before the phone observes, and then nobody says it.
        #expect(exit.lines.contains { $0.hasPrefix("departure 1 is 75 minutes late, says ") }, "\(exit.lines)")
        #expect(exit.lines.contains("rejected: a delay of more than two days is a cancellation"))
        #expect(exit.lines.suffix(2) == ["UA 1: 75 minutes", "UA 2: 0 minutes"])
    }

    @Test func whenTheBackendFailsTheProgramEndsWithTheReason() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                let file = folder + "/departures.csv"
                try "id,flight,delay,gate\na1,UA 9,60.5,A1\na2,UA 8,7.25,A2\n"
                    .write(toFile: file, atomically: true, encoding: .utf8)
                let exit = try await Tool.run("import", server.url("airport"), "Departure", file, "--key=id")
                try #require(exit.code == 0, "\(exit.diagnostics)")
            }
            // The backend declares the delay as Int, which has no 60.5.
            let exit = try await ChildProcess(path, [folder]).finish()
            #expect(exit.code == 1 && exit.diagnostics.contains("Departure.delay"), "\(exit.diagnostics)")
        }
    }
}
