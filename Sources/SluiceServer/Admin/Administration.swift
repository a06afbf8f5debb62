package import SluiceModel

/// What the program around a server does for its operator, who asks by the admin socket.
package struct Administration: Sendable {
    /// The levels of the log, which the operator may change.
    package var levels: LogLevels
    /// Reads the settings again; it returns what to tell the operator, a JSON object, or throws an error whose description
    /// is told.
    package var reload: @Sendable () async throws -> String

    package init(levels: LogLevels, reload: @escaping @Sendable () async throws -> String) {
        self.levels = levels
        self.reload = reload
    }
}
