/// The release that this code is of.
package enum SluiceRelease {
    /// The version by semver.org, as `sluice --version` and the log of a server say it.
    package static let version = "0.1.0"
}
