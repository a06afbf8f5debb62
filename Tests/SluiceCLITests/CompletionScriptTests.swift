import Foundation
import TestSupport
import Testing

@testable import SluiceCLI

/// What the scripts offer, in the shells that are installed.
@Suite(.serialized) struct CompletionScriptTests {
    /// Runs a script of a shell beside its completion.
    ///
    /// - Parameters:
    ///   - name: of the file with the completion.
    ///   - script: FOLDER stands for where that is.
    /// - Returns: nil if the shell is not installed.
    private func output(_ shell: CompletionScript.Shell, as name: String, _ script: String) async throws -> [String]? {
        try await withFolder { folder in
            let completion = CompletionScript(commands: Program.sluice.descriptions).text(for: shell)
            try completion.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            for file in ["rules.json", "readme"] {
                try "".write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
            }
            try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
            let path = folder + "/script"
            try script.replacing("FOLDER", with: folder).write(toFile: path, atomically: true, encoding: .utf8)
            guard let exit = try await run(shell.rawValue, [path], in: folder), exit.code != 127 else {
                print("skipped: there is no \(shell.rawValue)")
                return nil
            }
            #expect(exit.code == 0 && exit.diagnostics == "", "\(exit)")
            return exit.lines
        }
    }

    @Test(arguments: CompletionScript.Shell.allCases) func theShellReadsItsScript(shell: CompletionScript.Shell)
        async throws
    {
        _ = try await output(shell, as: "completion", "\(shell.rawValue) -n FOLDER/completion")
    }

    /// Command lines, with what is offered for the last word.
    static let lines: [(line: [String], offered: [String])] = [
        (["rul"], ["rules"]), (["rules", "ch"], ["check"]), (["rules", "check", "rule"], ["rules.json"]),
        (["rules", "deploy", "ws://h:1/x", "rule"], ["rules.json"]), (["backup", "v"], ["verify"]),
        (["backup", "verify", "rule"], ["rules.json"]), (["databases", "list", ""], []),
        (["can", "ws://h:1/x", ""], []), (["can", "ws://h:1/x", "ada", "cr"], ["create"]),
        (["can", "ws://h:1/x", "--claims", "{}", "ada", "cr"], ["create"]),
        (["can", "ws://h:1/x", "--claims={}", "ada", "cr"], ["create"]), (["log-level", "war"], ["warning"]),
        (["log-level", "info", "war"], []), (["run", "ws://h:1/x", "Q", "--", "ls", "rule"], ["rules.json"]),
        (["run", "ws://h:1/x", "Q", "rule"], []), (["completion", "f"], ["fish"]),
        (["serve", "--rules", "rule"], ["rules.json"]), (["serve", "--users", "--rules", "rule"], ["rules.json"]),
    ]

    @Test(arguments: lines) func bashOffersWhatFits(line: [String], offered: [String]) async throws {
        // Bash makes several words of one at `=` and `:`.
        let words = (["sluice"] + line).flatMap { word -> [String] in
            word.replacing("=", with: "\n=\n").replacing(":", with: "\n:\n")
                .split(separator: "\n", omittingEmptySubsequences: word != "").map(String.init)
        }
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            source FOLDER/completion
            COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1); _sluice
            ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
            """
        let found = try await output(.bash, as: "completion", script)
        #expect(found.map { $0 == offered } ?? true, "\(found ?? [])")
    }

    @Test(arguments: lines) func fishOffersWhatFits(line: [String], offered: [String]) async throws {
        let text = (["sluice"] + line).joined(separator: " ").replacing("{}", with: "x")
        let found = try await output(.fish, as: "completion", "source FOLDER/completion; complete -C '\(text)'")
        let words = found?.map { String($0.prefix { $0 != "\t" }) }
        #expect(words.map { $0 == offered } ?? true, "\(words ?? [])")
    }

    @Test func fishOffersTheValuesOfAnOption() async throws {
        let script = "source FOLDER/completion; complete -C 'sluice serve --log-level=w'"
        let found = try await output(.fish, as: "completion", script)
        #expect(found.map { $0.count == 1 && $0[0].hasPrefix("--log-level=warning") } ?? true, "\(found ?? [])")
    }

    /// The file in `$fpath` is the function that the first completion calls.
    @Test func zshOffersAtTheFirstCall() async throws {
        let script = """
            fpath=(FOLDER $fpath)
            autoload -Uz _sluice
            _describe() { print -r -- "described ${#${(P)2}}" }
            _arguments() { for word; do case $word in ([0-9]*) print -r -- $word;; esac; done }
            _command_names() { print -r -- command "$words" $CURRENT }
            _normal() { print -r -- normal "$words" $CURRENT }
            compdef() { print -r -- compdef }
            words=(sluice ''); CURRENT=2; _sluice
            words=(sluice rules check ''); CURRENT=4; _sluice
            words=(sluice run u q -- l); CURRENT=6; _sluice
            words=(sluice run u q -- ls x); CURRENT=7; _sluice
            """
        guard let found = try await output(.zsh, as: "_sluice", script) else { return }
        let actions = "check test diff deploy show history rollback"
        #expect(
            found == [
                "described \(Program.sluice.descriptions.count)", "1:ACTION:(\(actions))", "2:FILE|URL:_files",
                "3::FILE:_files", "command l 1", "normal ls x 2",
            ], "\(found)")
    }

    @Test func zshTakesItAsASourceToo() async throws {
        let script = "compdef() { print -r -- compdef $@ }; source FOLDER/completion"
        let found = try await output(.zsh, as: "completion", script)
        #expect(found.map { $0 == ["compdef _sluice sluice"] } ?? true, "\(found ?? [])")
    }
}
