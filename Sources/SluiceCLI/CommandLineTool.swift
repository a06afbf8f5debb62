/// The executable `sluice`, as a library: a thin program calls it, tests look inside.
package enum CommandLineTool {
    /// Runs a command to its end.
    ///
    /// - Parameter arguments: without the program's own name.
    /// - Returns: the exit code.
    package static func run(_ arguments: [String]) async -> Int32 {
        Signals.ignoreBrokenPipes()
        return await Program.sluice.run(arguments)
    }
}
