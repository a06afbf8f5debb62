import Foundation
import TestSupport
import Testing

/// Runs the example program about permissions as a process.
@Suite(.timeLimit(.minutes(10))) struct SharedDocumentsTests {
    @Test func theEditorWhoChangesTeamLosesAndGetsWhatTheProgramSays() async throws {
        let path = URL(fileURLWithPath: Tool.path).deletingLastPathComponent()
            .appendingPathComponent("SharedDocuments").path
        let exit = try await ChildProcess(path, []).finish()
        #expect(exit.code == 0, "\(exit.diagnostics)")
        #expect(exit.lines.contains("  Eva has cover, editorial"))
        let leaving = exit.lines.filter { $0.hasPrefix("  leaves: ") }
        #expect(leaving.allSatisfy { $0.hasPrefix("  leaves: cover, because of ") })
        #expect(exit.lines.contains("  comes: novel"))
        let end = exit.lines.suffix(2)
        #expect(end == ["  Eva has editorial: by Eva, on a train", "  Eva has novel: chapter one"])
    }
}
