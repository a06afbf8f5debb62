import TestSupport
import Testing

@testable import SluiceCLI

struct ManualPageTests {
    @Test func everyCommandAndOptionIsOnThePageAndManShowsThem() async throws {
        let page = ManualPage(commands: Program.sluice.descriptions)
        // A line of text that began with a dot or an apostrophe would be a request.
        for line in page.text.split(separator: "\n") where line.hasPrefix("'") || line.hasPrefix(".") {
            let name = line.dropFirst().prefix { $0.isLetter || $0 == "\\" }
            #expect(["TH", "ad", "nh", "SH", "SS", "TP", "PP", "B", "I", "EX", "EE", "\\"].contains(name), "\(line)")
        }
        for command in Program.sluice.descriptions {
            for option in command.options {
                #expect(page.text.contains(".B \\-\\-\(option.name.replacing("-", with: "\\-"))"), "\(option.name)")
            }
        }
        let file = try TemporaryFile(page.text, suffix: ".1")
        guard let shown = try await run("nroff", ["-man", "-ww", file.path]) else { return }
        #expect(shown.code == 0 && shown.diagnostics.isEmpty, "\(shown.diagnostics)")
        let text = shown.lines.joined(separator: "\n")
        #expect(text.contains("--log-level") || text.contains("log"), "\(text.prefix(500))")
    }
}
