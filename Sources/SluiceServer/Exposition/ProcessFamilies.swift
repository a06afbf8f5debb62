internal import FoundationEssentials
internal import Glibc
internal import SluiceModel

/// What Prometheus' client libraries say about every process, by the names that they use.
enum ProcessFamilies {
    /// Reads `/proc`; what cannot be read is 0.
    static func make() -> [MetricFamily] {
        let fields = text("/proc/self/stat")?.split(separator: ")").last?.split(separator: " ").map(String.init) ?? []
        // The numbers are those of proc(5), less the two fields up to the name of the program and one for the index.
        func field(_ number: Int) -> Double { fields.count > number - 3 ? Double(fields[number - 3]) ?? 0 : 0 }
        let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        return [
            family(
                "process_cpu_seconds_total", .counter, "CPU time of the process.", (field(14) + field(15)) / ticks),
            family(
                "process_start_time_seconds", .gauge, "When the process was started, since 1970.",
                bootTime + field(22) / ticks),
            family("process_virtual_memory_bytes", .gauge, "Virtual memory of the process.", field(23)),
            family(
                "process_resident_memory_bytes", .gauge, "Memory of the process that is in use.",
                field(24) * Double(sysconf(Int32(_SC_PAGESIZE)))),
            family("process_open_fds", .gauge, "Open file descriptors.", openDescriptorCount),
            family("process_max_fds", .gauge, "The most file descriptors that may be open.", descriptorCountMax),
        ]
    }

    private static func family(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: Double
    ) -> MetricFamily {
        var family = MetricFamily(name, kind, help)
        family.add(value)
        return family
    }

    private static func text(_ path: String) -> String? {
        (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }

    private static var bootTime: Double {
        let line = text("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Double($0.dropFirst(6)) } ?? 0
    }

    private static var openDescriptorCount: Double {
        Double((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0)
    }

    private static var descriptorCountMax: Double {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Double(limit.rlim_cur)
    }
}
