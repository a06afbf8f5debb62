/// What went wrong in a simulation, and how to reproduce it.
package struct SimulationFailure: Error, CustomStringConvertible {
    package let message: String
    package internal(set) var seed: UInt64 = 0
    package internal(set) var actionCount = 0
    /// The last actions and their steps.
    package internal(set) var trace: [String] = []

    init(_ message: String) { self.message = message }

    /// The failure that a simulation ended with, or why it could not start.
    package init(_ error: any Error) {
        self = error as? SimulationFailure ?? SimulationFailure("the simulation could not start: \(error)")
    }

    package var description: String {
        """
        seed \(seed), \(actionCount) actions: \(message)
        \(trace.joined(separator: "\n"))
        """
    }
}
