import Foundation
import TestSupport
import Testing

/// Runs the example program about two people who edit one list.
@Suite(.timeLimit(.minutes(10))) struct TwoCooksTests {
    @Test func bothHaveWhatBothWrote() async throws {
        let path = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().appendingPathComponent("TwoCooks").path
        let exit = try await ChildProcess(path, []).finish()
        #expect(exit.code == 0, "\(exit.diagnostics)")
        // Ada added a step after kneading, and Ben moved baking behind kneading, and added a step after that.
        let merged = #"Preheat the oven, Mix, Knead, Let it rise, Bake, Eat for 5: ["slow", "vegan"]"#
        #expect(exit.lines.suffix(2) == ["  Ada has \(merged)", "  Ben has \(merged)"])
    }
}
