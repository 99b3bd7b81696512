// A program with HSA's headers and a runtime of its own: an agent chooses between the targets of a bundle.
//
//   agent BUNDLE

#include "kernelDB.h"

#ifndef HSACO_KERNELDB_HAS_HSA
#error "HSA's headers are not there: install libhsa-runtime-dev"
#endif

static const char *isa_name = "";

extern "C" {
hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void *), void *data) {
    hsa_isa_t isa;
    isa.handle = agent.handle;
    isa_name = agent.handle == 1 ? "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-" : "amdgcn-amd-amdhsa--gfx1100";
    return callback(isa, data);
}
hsa_status_t hsa_isa_get_info_alt(hsa_isa_t, hsa_isa_info_t attribute, void *value) {
    if (attribute == HSA_ISA_INFO_NAME_LENGTH)
        *static_cast<uint32_t *>(value) = static_cast<uint32_t>(strlen(isa_name));
    else
        memcpy(value, isa_name, strlen(isa_name));
    return HSA_STATUS_SUCCESS;
}
}

int main(int, char **argv) {
    for (const uint64_t handle : {1, 2}) {
        hsa_agent_t agent;
        agent.handle = handle;
        kernelDB::kernelDB database(agent, argv[1]);
        std::vector<std::string> kernels;
        database.getKernels(kernels);
        const std::string first = kernels.at(0);
        const auto instructions = database.getKernel(first).getBasicBlocks().at(0)->getInstructions();
        std::cout << kernelDB::getIsaList(agent).at(0) << ": " << kernels.size() << " kernels, the first is " << first
                  << ", " << instructions.front().inst_ << "\n";
    }
    // A target that nothing here has, and one that the bundle has not.
    kernelDB::kernelDB database(kernelDB::agentForTarget("gfx942"), argv[1]);
    std::cout << database.getArchitecture().isa_ << ": " << database.getArchitecture().max_waves_ << " waves\n";
    try {
        kernelDB::kernelDB none(kernelDB::agentForTarget("gfx906"), argv[1]);
    } catch (const std::runtime_error &error) {
        std::cout << error.what() << "\n";
    }
}
