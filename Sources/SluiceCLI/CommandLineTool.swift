/// The executable `sluice`, as a library: a thin program calls it, tests look inside.
package enum CommandLineTool {
    /// Runs the command that this process was started with to its end.
    ///
    /// - Returns: the exit code.
    package static func run() async -> Int32 {
        StandardStreams.holdClosed()
        Signals.ignoreBrokenPipes()
        do throws(CommandError) {
            let words = try arguments()
            return await Program.sluice.run(words)
        } catch {
            Diagnostics.report(error.message)
            return error.kind.rawValue
        }
    }

    /// What follows the program's own name.
    ///
    /// - Throws: ``CommandError`` where bytes are not UTF-8: repaired, they would name something else.
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
