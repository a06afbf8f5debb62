/// The executable `sluice` as a library, which the program calls and tests can import.
package enum CommandLineTool {
    /// Runs the command of this process until it ends.
    ///
    /// - Returns: the exit code.
    package static func run() async -> Int32 {
        StandardStreams.holdClosed()
        Signals.ignoreBrokenPipes()
        do throws(CommandError) {
            let words = try arguments()
            if words.count == 2, words[0] == ProgramGuard.argument {
                ProgramGuard.serve(words[1])
                return 0
            }
            return await Program.sluice.run(words)
        } catch {
            Diagnostics.report(error.message)
            return error.kind.rawValue
        }
    }

    /// The arguments after the program's name.
    ///
    /// - Throws: ``CommandError`` when an argument is not UTF-8, since a repaired one would name something else.
    private static func arguments() throws(CommandError) -> [String] {
        var arguments: [String] = []
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let bytes = CommandLine.unsafeArgv[index] else { break }
            guard let argument = String(validatingCString: bytes) else {
                throw .usage("argument \(index), '\(DisplayText.shortened(String(cString: bytes)))', is not UTF-8")
            }
            arguments.append(argument)
        }
        return arguments
    }
}
